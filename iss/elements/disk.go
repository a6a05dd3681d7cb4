package elements

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/headway-lab/headway/whole"
)

// state is what is kept of a source beside its body.
type state struct {
	URL          string    `json:"url"`
	Fetched      time.Time `json:"fetched"` // when the body came
	Current      time.Time `json:"current"` // when it was last found to be up to date
	Tried        time.Time `json:"tried"`   // the last request
	Next         time.Time `json:"next"`    // no request before that
	Failures     int       `json:"failures"`
	Problem      string    `json:"problem,omitempty"`
	SHA256       string    `json:"sha256"` // of the body
	ETag         string    `json:"etag,omitempty"`
	LastModified string    `json:"last_modified,omitempty"`
}

// paths of a source's files: what a URL ends with, for people, and a hash, for truth.
func (s *source) paths(dir string) (body, meta string) {
	sum := sha256.Sum256([]byte(s.url))
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, s.url[max(len(s.url)-40, 0):])
	base := filepath.Join(dir, strings.Trim(name, "-")+"-"+hex.EncodeToString(sum[:4]))
	return base + ".elements", base + ".json"
}

// load reads what is kept of a source. What is not whole is as if it were not there, but
// for the time of the next request.
func (s *source) load(dir string) error {
	body, meta := s.paths(dir)
	b, err := os.ReadFile(meta)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(b, &s.state)
	}
	if err != nil {
		s.state = state{}
		return fmt.Errorf("%s cannot be used: %w", meta, err)
	}
	if s.state.SHA256 == "" {
		return nil
	}
	data, err := os.ReadFile(body)
	if err == nil && sum(data) != s.state.SHA256 {
		err = errors.New("it is not what was written")
	}
	if err == nil {
		s.sets, s.bad, err = Parse(data)
	}
	if err != nil {
		s.sets, s.bad = nil, Bad{}
		s.state.SHA256, s.state.ETag, s.state.LastModified = "", "", ""
		s.state.Fetched, s.state.Current = time.Time{}, time.Time{}
		// What was fetched well is lost, and need not be missed for a day. A server that has
		// refused is left alone for as long as was meant.
		if soon := s.state.Tried.Add(polite); s.state.Failures == 0 && soon.Before(s.state.Next) {
			s.state.Next = soon
		}
		return fmt.Errorf("%s cannot be used: %w", body, err)
	}
	return nil
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// save writes the state, and the body first if there is one.
func (s *source) save(dir string, data []byte) error {
	body, meta := s.paths(dir)
	if data != nil {
		if err := whole.Replace(body, 0o644, data); err != nil {
			return err
		}
	}
	b, err := json.MarshalIndent(s.state, "", " ")
	if err != nil {
		return err
	}
	return whole.Replace(meta, 0o644, append(b, '\n'))
}

// Writable tells why nothing can be kept in a directory; nil if it can.
func Writable(dir string) error {
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
