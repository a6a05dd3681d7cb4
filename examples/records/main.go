// Command records is a service to mirror: it lists records, page by page, and serves each.
// It can be slow, stall and refuse, as services do.
//
//	go run ./examples/records
//	go run ./cmd/headway mirror examples/records/mirror.yaml --to /tmp/records
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8087", "`ADDRESS` to listen at")
	var s service
	flag.IntVar(&s.records, "records", 100_000, "have `N` records")
	flag.IntVar(&s.size, "size", 1024, "of so many `BYTES`")
	flag.DurationVar(&s.delay, "delay", 0, "take `TIME` to answer for a record")
	flag.Float64Var(&s.stall, "stall", 0, "never answer for this `SHARE` of the requests for records")
	flag.Float64Var(&s.refuse, "refuse", 0, "answer this `SHARE` with status 503 and Retry-After: 1")
	flag.Parse()
	log.SetFlags(0)
	if s.records < 0 || s.size < 0 || s.delay < 0 {
		log.Fatal("records: want no negative numbers")
	}
	l, err := net.Listen("tcp", *listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		log.Fatalf("records: %s is taken: stop the one that is there, or take another with -listen", *listen)
	}
	if err != nil {
		log.Fatal("records: ", err)
	}
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: time.Minute}
	log.Printf("%d records at http://%s/records", s.records, l.Addr())
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal("records: ", err)
	}
}

// service is what the flags say.
type service struct {
	records, size int
	delay         time.Duration
	stall, refuse float64
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /records", s.list)
	mux.HandleFunc("GET /records/{id}", s.one)
	return mux
}

var (
	kinds    = []string{"invoice", "receipt", "offer"}
	statuses = []string{"paid", "open", "void", "late"}
	first    = time.Date(2017, 8, 1, 0, 0, 0, 0, time.UTC)
)

// perDay is how many records were made on one day.
const perDay = 10_000

// list answers with a page: numbers begin with 1, and the page after the last is empty.
func (s *service) list(w http.ResponseWriter, r *http.Request) {
	page, size := 1, 1000
	for name, to := range map[string]*int{"page": &page, "size": &size} {
		if v := r.FormValue(name); v != "" {
			n, err := strconv.Atoi(v)
			if err != nil || n < 1 || n > 1_000_000 {
				http.Error(w, name+" is no number", http.StatusBadRequest)
				return
			}
			*to = n
		}
	}
	size = min(size, 10_000)
	from := min((page-1)*size, s.records)
	to := min(from+size, s.records)
	b := fmt.Appendf(nil, `{"total":%d,"records":[`, s.records)
	for id := from; id < to; id++ {
		if id > from {
			b = append(b, ',')
		}
		b = s.record(b, id)
	}
	b = append(b, "]}\n"...)
	w.Header().Set("Content-Type", "application/json")
	w.Write(b)
}

func (s *service) record(b []byte, id int) []byte {
	return fmt.Appendf(b, `{"id":%d,"type":%q,"status":%q,"created":%q,"size":%d}`,
		id, kinds[id%len(kinds)], statuses[id/3%len(statuses)], first.AddDate(0, 0, id/perDay).Add(time.Duration(id%perDay)*8*time.Second).Format(time.RFC3339), s.size)
}

// one answers with the text of a record: its fields, and enough to make it as long as it shall be.
func (s *service) one(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || id < 0 || id >= s.records {
		http.NotFound(w, r)
		return
	}
	switch luck := rand.Float64(); {
	case luck < s.stall:
		<-r.Context().Done()
		return
	case luck < s.stall+s.refuse:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "busy", http.StatusServiceUnavailable)
		return
	}
	time.Sleep(s.delay)
	b := s.record(make([]byte, 0, s.size), id)
	for i := 0; len(b) < s.size; i++ {
		b = append(b, ' '+byte(i%64))
	}
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("Content-Length", strconv.Itoa(s.size))
	w.Write(b[:s.size])
}
