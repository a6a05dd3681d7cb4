package health_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/headway-lab/headway/health"
)

// A web site in pods behind one service: iss-peers is a second, headless service with the same pods.
func ExampleNew() {
	pod := health.New(health.Options{
		Others: health.Peers(nil, health.Headless("iss-peers", "8080", "/served")),
	})
	site := http.FileServer(http.Dir("."))

	mux := http.NewServeMux()
	mux.Handle("/", pod.Count(site))
	mux.HandleFunc("GET /livez", pod.Live)
	mux.HandleFunc("GET /readyz", pod.Ready)
	mux.HandleFunc("GET /served", pod.Tell)
	pod.SetReady(true) // when there is something to serve; SetReady(false) when it is told to end

	fmt.Println(pod.Judge(context.Background()).Alive)
	// Output: true
}

// What is not HTTP counts for itself, and asks itself in its own way.
func ExamplePod_Served() {
	pod := health.New(health.Options{
		Check:       func(context.Context) error { return nil /* ask 127.0.0.1:53 for the SOA record */ },
		CheckServed: 1,
	})
	answer := func() { pod.Served() }
	answer()
	fmt.Println(pod.Tally().Served)
	// Output: 1
}

// Of 1,000 requests to ten pods one got 3. A fair share is 100, and a tenth of that is 10.
func ExampleChance() {
	fmt.Printf("%.4f\n", health.Chance(3, 1000, .1/10))
	fmt.Println(health.Enough(.1/10, 1e-6), "requests are enough to tell that a pod gets none")
	// Output:
	// 0.0101
	// 1375 requests are enough to tell that a pod gets none
}
