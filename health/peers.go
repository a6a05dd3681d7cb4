package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const mostPeers = 256 // asked for one verdict; a larger fleet is judged by these

// Peers asks other pods what they served, sixteen at a time, each by GET at one of the addresses. Those
// that do not answer are left out: a pod that is down has not served. It is an error when
// none answers. A nil client means one without a proxy, that follows no redirects and keeps no connections.
func Peers(client *http.Client, addresses func(context.Context) ([]string, error)) func(context.Context) ([]Tally, error) {
	if client == nil {
		client = &http.Client{
			Transport:     &http.Transport{DisableKeepAlives: true, ResponseHeaderTimeout: 5 * time.Second},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return func(ctx context.Context) ([]Tally, error) {
		urls, err := addresses(ctx)
		if err != nil {
			return nil, err
		}
		urls = urls[:min(len(urls), mostPeers)]
		tallies, errs := make([]Tally, len(urls)), make([]error, len(urls))
		next := make(chan int, len(urls))
		for i := range urls {
			next <- i
		}
		close(next)
		var wg sync.WaitGroup
		for range min(16, len(urls)) {
			wg.Go(func() {
				for i := range next {
					tallies[i], errs[i] = ask(ctx, client, urls[i])
				}
			})
		}
		wg.Wait()
		var told []Tally
		for i, err := range errs {
			if err == nil {
				told = append(told, tallies[i])
			}
		}
		if len(told) == 0 && len(urls) > 0 {
			return nil, fmt.Errorf("none of %d pods answers: %w", len(urls), errors.Join(errs[:min(3, len(errs))]...))
		}
		return told, nil
	}
}

func ask(ctx context.Context, client *http.Client, url string) (t Tally, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return t, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return t, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return t, fmt.Errorf("%s: status %s", url, answer.Status)
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, 4096)).Decode(&t); err != nil {
		return t, fmt.Errorf("%s: %w", url, err)
	}
	if t.Instance == "" {
		return t, fmt.Errorf("%s: no instance in the answer", url)
	}
	return t, nil
}

// Headless gives the addresses of all pods behind a headless service of Kubernetes, or
// any other name with an address record for each pod: http://ADDRESS:port/path.
func Headless(host, port, path string) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		addresses, err := net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			return nil, err
		}
		for i, a := range addresses {
			addresses[i] = "http://" + net.JoinHostPort(a, port) + path
		}
		return addresses, nil
	}
}
