package page

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headway-lab/headway/iss/orbit"
	"github.com/headway-lab/headway/iss/sky"
)

// reader takes a stream apart as a browser does.
type reader struct {
	*bufio.Scanner
	retry string
}

func (r *reader) next() (event, data string, ok bool) {
	for r.Scan() {
		name, value, _ := strings.Cut(r.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			event = value
		case "data":
			data += value
		case "retry":
			r.retry = value
		case "":
			if r.Text() == "" && data != "" {
				return event, data, true
			}
		}
	}
	return "", "", false
}

func follow(t *testing.T, url string) (*reader, *http.Response) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Body.Close() })
	scanner := bufio.NewScanner(r.Body)
	scanner.Buffer(nil, 1<<20)
	return &reader{Scanner: scanner}, r
}

func TestLive(t *testing.T) {
	s := newSite(t, nil)
	s.hub.every = 20 * time.Millisecond
	server := httptest.NewServer(s)
	defer server.Close()
	defer s.Close()
	stream, answer := follow(t, server.URL+"/api/v1/live/iss")
	if answer.Header.Get("Content-Type") != "text/event-stream" || answer.Header.Get("Cache-Control") != "no-store, no-transform" || answer.Header.Get("X-Accel-Buffering") != "no" {
		t.Errorf("%v", answer.Header)
	}
	o := sky.BuiltIn().Number(25544)
	drawn, last := 0, int64(0)
	for i := range 25 {
		event, data, ok := stream.next()
		if !ok || event != "moment" {
			t.Fatalf("event %d: %q %v", i, event, stream.Err())
		}
		var m Moment
		if err := json.Unmarshal([]byte(data), &m); err != nil {
			t.Fatal(err)
		}
		if want, _ := o.Below(m.Time); math.Abs(m.Latitude-want.Latitude) > 1e-6 || math.Abs(m.Longitude-want.Longitude) > 1e-6 {
			t.Errorf("%+v, want %+v", m.Position, want)
		}
		if i == 0 && m.Drawn == nil {
			t.Error("the first event draws nothing")
		}
		if m.Drawn != nil {
			drawn++
		}
		if m.Milliseconds < last || m.Milliseconds != m.Time.UnixMilli() || !strings.HasPrefix(m.Footprint, "M") {
			t.Errorf("%d after %d, footprint %q", m.Milliseconds, last, m.Footprint)
		}
		last = m.Milliseconds
	}
	if drawn != 3 { // the first, and every tenth after
		t.Errorf("drawn %d times in 25 events", drawn)
	}
	if stream.retry == "" {
		t.Error("no time to come back after")
	}
	// The end of the server is the end of the stream.
	s.Close()
	for {
		if _, _, ok := stream.next(); !ok {
			break
		}
	}
	if _, answer := follow(t, server.URL+"/api/v1/live/iss"); answer.StatusCode != 503 {
		t.Errorf("a stream after the end: %d", answer.StatusCode)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	s := newSite(t, nil)
	s.hub.most = 2
	server := httptest.NewServer(s)
	defer server.Close()
	defer s.Close()
	_, a := follow(t, server.URL+"/api/v1/live/iss")
	_, b := follow(t, server.URL+"/api/v1/live/hubble")
	_, c := follow(t, server.URL+"/api/v1/live/iss")
	if a.StatusCode != 200 || b.StatusCode != 200 || c.StatusCode != 503 || c.Header.Get("Retry-After") == "" {
		t.Errorf("%d %d %d %s", a.StatusCode, b.StatusCode, c.StatusCode, c.Header.Get("Retry-After"))
	}
	a.Body.Close() // who leaves makes room
	for i := 0; ; i++ {
		s.hub.mu.Lock()
		n := s.hub.count
		s.hub.mu.Unlock()
		if n == 1 {
			break
		}
		if i > 5000 {
			t.Fatalf("%d streams are counted, and one is there", n)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// One second is computed once, however many follow; who does not read is dropped and holds nobody up; and
// when nobody follows, nothing is computed.
func TestOneComputationForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked := 0
		s := newSite(t, func() time.Time { mu.Lock(); defer mu.Unlock(); asked++; return noon })
		asked = 0
		var all []*stream
		for range 50 {
			all = append(all, s.hub.join(25544))
		}
		lazy, active := all[0], all[1:]
		for range 20 {
			time.Sleep(time.Second)
			synctest.Wait()
			for _, c := range active {
				if _, ok := <-c.messages; !ok {
					t.Fatal("who reads is dropped")
				}
			}
		}
		if asked != 20 {
			t.Errorf("computed %d times in 20 seconds", asked)
		}
		got := 0
		for range lazy.messages { // closed, or this would wait
			got++
		}
		if got != backlog || s.hub.slow.Load() != 1 {
			t.Errorf("who does not read got %d messages and %d were dropped", got, s.hub.slow.Load())
		}
		for _, c := range active {
			s.hub.leave(25544, c)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if s.hub.running || s.hub.count != 0 || len(s.hub.streams) != 0 || asked > 21 {
			t.Errorf("running %v, %d streams, computed %d times", s.hub.running, s.hub.count, asked)
		}
		// And it begins again.
		c := s.hub.join(25544)
		time.Sleep(1500 * time.Millisecond)
		if len(c.messages) != 1 {
			t.Errorf("%d messages", len(c.messages))
		}
		s.Close()
		synctest.Wait()
	})
}

// broken is a connection that takes nothing any more.
type broken struct {
	http.ResponseWriter
	cancel context.CancelFunc
}

func (b broken) Write([]byte) (int, error) { b.cancel(); return 0, errors.New("gone") }

func TestWhoHasGoneIsForgotten(t *testing.T) {
	s := newSite(t, still)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := httptest.NewRequest("GET", "/api/v1/live/iss", nil).WithContext(ctx)
	s.ServeHTTP(broken{httptest.NewRecorder(), cancel}, r)
	if s.hub.count != 0 {
		t.Errorf("%d streams", s.hub.count)
	}
}

// An object that leaves the catalogue, or whose theory ends, is told of as gone.
func TestGone(t *testing.T) {
	s := newSite(t, still)
	if e := string(s.event(1, true)); !strings.HasPrefix(e, "event: gone\ndata: {\"error\":") || !strings.HasSuffix(e, "\n\n") {
		t.Error(e)
	}
	s.o.Now = func() time.Time { return noon.AddDate(400, 0, 0) }
	if e := string(s.event(25544, true)); !strings.HasPrefix(e, "event: gone\ndata: {\"error\":") {
		t.Error(e)
	}
	_ = orbit.ErrTooFar
}
