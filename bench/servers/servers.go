package main

// A Server is a program that others wrote, and what is repeated in it.
type Server struct {
	Name    string
	Module  string // path@version
	Package string // the program's directory in the module
	Args    []string
	Files   map[string]string // what it reads, by name, in the directory where it runs
	Load    string            // the clients: a command for the shell
	Needs   string            // the tool that Load needs, "" if it is this program
	// Progress is the function that is called once an operation: "import path, function".
	Progress [2]string
	Sites    []Site
}

// A Site is a function of the server that does some work of its own some times over. Before it is changed it does so Times times, and a
// change of 25 % leaves out a quarter of them: so what it costs is what this work costs there, system calls, locks and garbage included.
type Site struct {
	Name string // as the profile calls it
	In   string // import path, without the module's, of the package
	Func string // in there
	What string // for the reader
	// Times is how often its work is done, a multiple of 4.
	Times int
	Env   string // the variable that says so to the program
	// Patch are edits of files of the package, each of a text that occurs once: file, old, new.
	Patch [][3]string
	// Code is a file that is added to the package.
	Code string
}

// In $PORT the server listens, and wants its clients.
var servers = []Server{
	{
		Name: "caddy", Module: "github.com/caddyserver/caddy/v2@v2.11.9", Package: "cmd/caddy",
		Args: []string{"run", "--config", "Caddyfile"},
		Files: map[string]string{
			"Caddyfile": `{
	auto_https off
	admin off
}
http://127.0.0.1:{$PORT} {
	log {
		output stdout
	}
	header X-Frame-Options DENY
	encode gzip
	root {$DIR}
	file_server
}
`,
			"page.html": page,
		},
		Load: `taskset -c $CLIENTS wrk -t 1 -c 8 -d 10m -H 'Accept-Encoding: gzip' http://127.0.0.1:$PORT/page.html`, Needs: "wrk",
		Progress: [2]string{"modules/caddyhttp", "(*Server).ServeHTTP"},
		Sites: []Site{
			{
				Name: "caddyhttp.(*Server).logRequest", In: "modules/caddyhttp", Func: "(*Server).logRequest",
				What: "the access log: allocations, a lock, a write to a file", Times: 4, Env: "AGAIN_LOG",
				Patch: [][3]string{{"server.go", "func (s *Server) logRequest(", "func (s *Server) logRequestOnce("}},
				Code: `
import (
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"
)

var againLog, _ = strconv.Atoi(os.Getenv("AGAIN_LOG"))

func (s *Server) logRequest(
	accLog *zap.Logger, r *http.Request, wrec ResponseRecorder, duration *time.Duration, writeErr *error,
	repl *caddy.Replacer, bodyReader *lengthReader, shouldLogCredentials bool,
) {
	for range againLog {
		s.logRequestOnce(accLog, r, wrec, duration, writeErr, repl, bodyReader, shouldLogCredentials)
	}
}
`,
			},
			{
				Name: "encode.compressAgain", In: "modules/caddyhttp/encode", Func: "compressAgain",
				What: "gzip of the page, from a pool", Times: 4, Env: "AGAIN_GZIP",
				Patch: [][3]string{{"encode.go", "n, err = rw.w.Write(p)", "compressAgain(p)\n\t\tn, err = rw.w.Write(p)"}},
				Code: `
import (
	"io"
	"os"
	"strconv"
	"sync"

	"github.com/klauspost/compress/gzip"
)

var (
	againGzip, _ = strconv.Atoi(os.Getenv("AGAIN_GZIP"))
	againPool    = sync.Pool{New: func() any { w, _ := gzip.NewWriterLevel(io.Discard, 5); return w }}
)

//go:noinline
func compressAgain(p []byte) {
	for range againGzip {
		w := againPool.Get().(*gzip.Writer)
		w.Reset(io.Discard)
		w.Write(p)
		w.Close()
		againPool.Put(w)
	}
}
`,
			},
			{
				Name: "fileserver.statAgain", In: "modules/caddyhttp/fileserver", Func: "statAgain",
				What: "the file's size and time: a system call, allocations", Times: 12, Env: "AGAIN_STAT",
				Patch: [][3]string{{"staticfiles.go", "info, err := fs.Stat(fileSystem, filename)", "info, err := statAgain(fileSystem, filename)"}},
				Code: `
import (
	"io/fs"
	"os"
	"strconv"
)

var againStat, _ = strconv.Atoi(os.Getenv("AGAIN_STAT"))

//go:noinline
func statAgain(fsys fs.FS, name string) (info fs.FileInfo, err error) {
	for range againStat {
		info, err = fs.Stat(fsys, name)
	}
	return info, err
}
`,
			},
		},
	},
	{
		Name: "coredns", Module: "github.com/coredns/coredns@v1.15.0", Package: ".",
		Args: []string{"-conf", "Corefile"},
		Files: map[string]string{
			"Corefile": `example.org:{$PORT} {
	bind 127.0.0.1
	log
	errors
	file zone
}
`,
			"zone": `$ORIGIN example.org.
$TTL 300
@ IN SOA ns.example.org. admin.example.org. 1 7200 3600 1209600 3600
@ IN NS ns
ns IN A 192.0.2.1
www IN A 192.0.2.2
www IN A 192.0.2.3
mail IN A 192.0.2.4
@ IN MX 10 mail
`,
			"questions": "www.example.org A\nmail.example.org A\nexample.org MX\nnone.example.org A\n",
		},
		Load: `taskset -c $CLIENTS dnsperf -s 127.0.0.1 -p $PORT -d questions -c 4 -q 8 -t 1 -l 600`, Needs: "dnsperf",
		Progress: [2]string{"core/dnsserver", "(*Server).ServeDNS"},
		Sites: []Site{
			{
				Name: "log.Logger.replaceAgain", In: "plugin/log", Func: "Logger.replaceAgain",
				What: "a line of the log", Times: 8, Env: "AGAIN_LINE",
				Patch: [][3]string{{"log.go", "l.repl.Replace(ctx, state, rrw, rule.Format)", "l.replaceAgain(ctx, state, rrw, rule.Format)"}},
				Code: `
import (
	"context"
	"os"
	"strconv"

	"github.com/coredns/coredns/plugin/pkg/dnstest"
	"github.com/coredns/coredns/request"
)

var againLine, _ = strconv.Atoi(os.Getenv("AGAIN_LINE"))

//go:noinline
func (l Logger) replaceAgain(ctx context.Context, state request.Request, rrw *dnstest.Recorder, format string) (line string) {
	for range againLine {
		line = l.repl.Replace(ctx, state, rrw, format)
	}
	return line
}
`,
			},
			{
				Name: "log.writeAgain", In: "plugin/log", Func: "writeAgain",
				What: "its writing: a lock, a system call", Times: 4, Env: "AGAIN_WRITE",
				Patch: [][3]string{{"log.go", "clog.Info(logstr)", "writeAgain(logstr)"}},
				Code: `
import (
	"os"
	"strconv"

	clog "github.com/coredns/coredns/plugin/pkg/log"
)

var againWrite, _ = strconv.Atoi(os.Getenv("AGAIN_WRITE"))

//go:noinline
func writeAgain(line string) {
	for range againWrite {
		clog.Info(line)
	}
}
`,
			},
			{
				Name: "request.scrubAgain", In: "request", Func: "scrubAgain",
				What: "how long the answer is", Times: 12, Env: "AGAIN_SCRUB",
				Patch: [][3]string{{"writer.go", "state.Scrub(m)", "scrubAgain(&state, m)"}},
				Code: `
import (
	"os"
	"strconv"

	"github.com/miekg/dns"
)

var againScrub, _ = strconv.Atoi(os.Getenv("AGAIN_SCRUB"))

//go:noinline
func scrubAgain(r *Request, m *dns.Msg) {
	for range againScrub {
		r.Scrub(m)
	}
}
`,
			},
		},
	},
	{
		Name: "nats-server", Module: "github.com/nats-io/nats-server/v2@v2.15.3", Package: ".",
		Args:     []string{"-a", "127.0.0.1", "-p", "$PORT"},
		Load:     `taskset -c $CLIENTS $SELF publish $PORT`,
		Progress: [2]string{"server", "(*client).processInboundClientMsg"},
		Sites: []Site{
			{
				Name: "server.matchAgain", In: "server", Func: "matchAgain",
				What: "who wants the message: a lock, a map", Times: 8, Env: "AGAIN_MATCH",
				Patch: [][3]string{{"client.go", "\t// Go back to the sublist data structure.\n", "\tmatchAgain(acc.sl, c.pa.subject)\n"}},
				Code: `
import (
	"os"
	"strconv"
)

var againMatch, _ = strconv.Atoi(os.Getenv("AGAIN_MATCH"))

//go:noinline
func matchAgain(sl *Sublist, subject []byte) {
	for range againMatch {
		sl.MatchBytes(subject)
	}
}
`,
			},
		},
	},
}
