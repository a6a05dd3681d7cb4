package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestPages(t *testing.T) {
	s := httptest.NewServer(newServer(service, 1))
	defer s.Close()
	for path, want := range map[string]string{"/": "ok\n", "/mm1": "ok\n", "/slow": "ok\n", "/stall": "ok\n"} {
		r, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || string(b) != want || r.StatusCode != 200 {
			t.Errorf("%s: %d %q, %v", path, r.StatusCode, b, err)
		}
	}
	dropped := 0
	for range 200 {
		r, err := http.Post(s.URL+"/drop", "", nil)
		if err != nil {
			dropped++
			continue
		}
		r.Body.Close()
	}
	// Binomial with 200 draws of .1: standard deviation 4.2.
	if dropped < 5 || dropped > 40 {
		t.Errorf("%d of 200 dropped, want about 20", dropped)
	}
}
