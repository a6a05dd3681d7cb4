package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// plain is the plainest loop in Go that is correct: one transport with enough idle
// connections, a timeout, sixteen goroutines; every record into a temporary file that is renamed.
func plain(address, records, dir string) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: 10 * time.Second}
	type record struct {
		ID           int
		Type, Status string
		Created      time.Time
	}
	work := make(chan record, 512)
	var wg sync.WaitGroup
	var made sync.Map
	for range 16 {
		wg.Go(func() {
			for r := range work {
				resp, err := client.Get("http://" + address + "/records/" + strconv.Itoa(r.ID))
				if err != nil {
					log.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusOK {
					log.Fatal(resp.Status, err)
				}
				in := filepath.Join(dir, "files", r.Created.Format("2006/01/02"), r.Type, r.Status)
				if _, ok := made.Load(in); !ok {
					if err := os.MkdirAll(in, 0o777); err != nil {
						log.Fatal(err)
					}
					made.Store(in, true)
				}
				name := filepath.Join(in, strconv.Itoa(r.ID)+".txt")
				if err := os.WriteFile(name+".tmp", body, 0o666); err != nil {
					log.Fatal(err)
				}
				if err := os.Rename(name+".tmp", name); err != nil {
					log.Fatal(err)
				}
			}
		})
	}
	for page := 1; ; page++ {
		resp, err := client.Get(fmt.Sprintf("http://%s/records?records=%s&page=%d", address, records, page))
		if err != nil {
			log.Fatal(err)
		}
		var list struct{ Records []record }
		err = json.NewDecoder(resp.Body).Decode(&list)
		resp.Body.Close()
		if err != nil {
			log.Fatal(err)
		}
		if len(list.Records) == 0 {
			break
		}
		for _, r := range list.Records {
			work <- r
		}
	}
	close(work)
	wg.Wait()
}
