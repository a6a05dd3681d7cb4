package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/headway-lab/headway/report/style"
)

//go:embed page.tmpl page.css page.js theme.js world.json
var files embed.FS

// asset is a file that never changes under its name, because the name has a hash.
type asset struct {
	kind         string
	body, packed []byte
	etag, url    string
}

// assets by what the page calls them.
func assets() (map[string]*asset, error) {
	all := map[string]*asset{}
	add := func(name string, body []byte) error {
		sum := sha256.Sum256(body)
		hash := fmt.Sprintf("%x", sum[:6])
		ext := path.Ext(name)
		a := &asset{kind: mime.TypeByExtension(ext), body: body, etag: `W/"` + hash + `"`, url: "/assets/" + strings.TrimSuffix(name, ext) + "." + hash + ext}
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			return err
		}
		z.Write(body) // to memory
		z.Close()
		a.packed = b.Bytes()
		all[name] = a
		all[a.url] = a
		return nil
	}
	css, _ := files.ReadFile("page.css") // they are in the program
	js, _ := files.ReadFile("page.js")
	if err := errors.Join(add("page.css", style.Sheet(css)), add("page.js", js)); err != nil {
		return nil, err
	}
	return all, add("world.svg", theWorld().svg())
}

var theme, _ = files.ReadFile("theme.js")

var themeHash = func() string {
	sum := sha256.Sum256(theme)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}()

func (s *Site) asset(w http.ResponseWriter, r *http.Request) {
	a := s.static[r.URL.Path]
	if a == nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	if known(r, a.etag, h) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := a.body
	if h.Add("Vary", "Accept-Encoding"); packs(r) {
		h.Set("Content-Encoding", "gzip")
		body = a.packed
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

// known sets the ETag, and tells that the one who asks has this already.
func known(r *http.Request, etag string, h http.Header) bool {
	h.Set("ETag", etag)
	for tag := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || tag == etag || "W/"+tag == etag {
			return true
		}
	}
	return false
}

// packs tells that whoever asks takes gzip (RFC 9110, 12.5.3).
func packs(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(part), ";")
		if name = strings.TrimSpace(name); name != "gzip" && name != "*" {
			continue
		}
		q, ok := strings.CutPrefix(strings.ReplaceAll(q, " ", ""), "q=")
		v, err := strconv.ParseFloat(q, 64)
		return !ok || err == nil && v > 0
	}
	return false
}

var packers = sync.Pool{New: func() any { z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed); return z }}

const worthPacking = 1024 // bytes; below it fits into one packet anyway

// send answers with a body that may be kept for some seconds.
func send(w http.ResponseWriter, r *http.Request, status int, kind string, body []byte, seconds int) {
	h := w.Header()
	h.Set("Content-Type", kind)
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "public, max-age="+strconv.Itoa(seconds))
	}
	h.Add("Vary", "Accept-Encoding")
	if status == http.StatusOK {
		sum := fnv.New64a()
		sum.Write(body)
		if known(r, fmt.Sprintf(`W/"%x"`, sum.Sum64()), h) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if len(body) >= worthPacking && packs(r) {
		h.Set("Content-Encoding", "gzip")
		w.WriteHeader(status)
		z := packers.Get().(*gzip.Writer)
		z.Reset(w)
		z.Write(body) // whoever asked may have gone
		z.Close()
		packers.Put(z)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}

// answer with JSON. Anybody's page may read it: it is nobody's secret.
func answer(w http.ResponseWriter, r *http.Request, v any, seconds int) {
	body, err := json.Marshal(v)
	if err != nil {
		fail(w, r, http.StatusInternalServerError, "", err.Error())
		return
	}
	w.Header().Set("Access-Control-Allow-Origin", "*")
	send(w, r, http.StatusOK, "application/json", append(body, '\n'), seconds)
}

// Fault is the answer to a request that cannot be answered.
type Fault struct {
	Error     string `json:"error"`
	Parameter string `json:"parameter,omitempty"` // the one to change
}

func fail(w http.ResponseWriter, r *http.Request, status int, parameter, text string) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Cache-Control", "no-store")
	body, _ := json.Marshal(Fault{text, parameter}) // strings do
	send(w, r, status, "application/json", append(body, '\n'), 0)
}
