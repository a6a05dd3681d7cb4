package powerdns

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// maxCall is how long a call may be, octets.
const maxCall = 64 << 10

// ServeHTTP takes the calls of the HTTP connector in all of its three ways: a path that says
// all, as in GET /dns/lookup/iss.example./ANY, which is the default; post=1; and
// post=1,post_json=1. Whatever stands before the method in the path is the prefix /dns.
//
// It has to be a server's own handler: http.ServeMux would clean paths, and /lookup/./SOA is
// how PowerDNS asks for the root.
func (b *Backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call, err := readCall(w, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, err := json.Marshal(b.do(call))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

func readCall(w http.ResponseWriter, r *http.Request) (request, error) {
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/dns")
	if !ok || rest != "" && rest[0] != '/' {
		return request{}, errForm
	}
	var args []string
	for _, s := range strings.Split(strings.Trim(rest, "/"), "/") {
		s, err := url.PathUnescape(s)
		if err != nil {
			return request{}, errForm
		}
		if s != "" {
			args = append(args, s)
		}
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxCall)
	if len(args) == 0 { // post_json
		var call request
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil || call.Method == "" {
			return request{}, errForm
		}
		return call, nil
	}
	call := request{Method: args[0]}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return request{}, errForm
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return request{}, errForm
	}
	if form.Has("parameters") { // post
		if err := json.Unmarshal([]byte(form.Get("parameters")), &call.Parameters); err != nil {
			return request{}, errForm
		}
		return call, nil
	}
	if err := call.path(args[1:]); err != nil {
		return request{}, err
	}
	p := &call.Parameters
	p.Value = form["value[]"]
	p.Key.Flags, _ = strconv.Atoi(form.Get("flags"))
	p.Key.Active = form.Get("active") == "1"
	p.Key.Published = !form.Has("published") || form.Get("published") == "1"
	p.Key.Content = form.Get("content")
	return call, nil
}

// path reads the parameters that stand in the path: id, name, kind or type, as far as the
// method has them, in this order.
func (c *request) path(args []string) error {
	p := &c.Parameters
	next := func() string {
		if len(args) == 0 {
			return ""
		}
		s := args[0]
		args = args[1:]
		return s
	}
	switch c.Method {
	case "lookup", "APILookup":
		p.QName, p.QType = next(), next()
		if p.QType == "" {
			return errForm
		}
	case "getDomainInfo", "getDomainKeys", "getAllDomainMetadata", "addDomainKey":
		p.Name = next()
	case "getDomainMetadata", "setDomainMetadata":
		p.Name, p.Kind = next(), next()
	case "removeDomainKey", "activateDomainKey", "deactivateDomainKey", "publishDomainKey", "unpublishDomainKey":
		a, b := next(), next()
		id, err := strconv.Atoi(a)
		if err != nil { // releases differ in the order
			a, b = b, a
			if id, err = strconv.Atoi(a); err != nil {
				return errForm
			}
		}
		p.ID, p.Name = number(id), b
	}
	return nil
}
