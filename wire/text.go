package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"syscall"
)

// cutLine returns the first line of b without its end, and what follows.
func cutLine(b []byte) (line, rest []byte) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return b, nil
	}
	line, rest = b[:i], b[i+1:]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, rest
}

// statusLine reads "HTTP/1.1 200 OK".
func statusLine(b []byte) (major, minor, status int, err error) {
	// One digit each, as every version of HTTP has it.
	ok := len(b) >= len("HTTP/1.1 200") && string(b[:5]) == "HTTP/" && digit(b[5]) && b[6] == '.' && digit(b[7]) && b[8] == ' ' &&
		digit(b[9]) && digit(b[10]) && digit(b[11]) && (len(b) == 12 || b[12] == ' ') && !control(b[12:])
	if !ok {
		return 0, 0, 0, fmt.Errorf("the server does not speak HTTP/1: %.40q", b)
	}
	status = int(b[9]-'0')*100 + int(b[10]-'0')*10 + int(b[11]-'0')
	if status < 100 {
		return 0, 0, 0, fmt.Errorf("there is no status %03d", status)
	}
	return int(b[5] - '0'), int(b[7] - '0'), status, nil
}

// field reads a header line (RFC 9112, 5).
func field(line []byte) (name, value []byte, err error) {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 || !token(line[:colon]) {
		return nil, nil, fmt.Errorf("the response holds a line that is no header: %.40q", line)
	}
	name, value = line[:colon], trim(line[colon+1:])
	if control(value) {
		return nil, nil, fmt.Errorf("the header %.40s of the response holds a control character", name)
	}
	return name, value, nil
}

func digit(b byte) bool { return '0' <= b && b <= '9' }

// decimal reads digits and nothing else.
func decimal(b []byte) (int64, error) {
	if len(b) == 0 {
		return 0, errors.New("empty")
	}
	n := int64(0)
	for _, d := range b {
		if !digit(d) || n > (math.MaxInt64-9)/10 {
			return 0, errors.New("not a number")
		}
		n = n*10 + int64(d-'0')
	}
	return n, nil
}

func blank(b byte) bool { return b == ' ' || b == '\t' }

func trim(b []byte) []byte {
	for len(b) > 0 && blank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && blank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// equalFold compares with a word in lower case.
func equalFold(b []byte, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// listed says whether a list with commas holds a word in lower case.
func listed(list []byte, word string) bool {
	for len(list) > 0 {
		item := list
		if i := bytes.IndexByte(list, ','); i >= 0 {
			item, list = list[:i], list[i+1:]
		} else {
			list = nil
		}
		if equalFold(trim(item), word) {
			return true
		}
	}
	return false
}

// token says whether b is a name as headers have it (RFC 9110, 5.6.2).
func token(b []byte) bool {
	for _, c := range b {
		if !tokens[c] {
			return false
		}
	}
	return true
}

var tokens = func() (t [256]bool) {
	for _, c := range []byte("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		t[c] = true
	}
	return t
}()

// control says whether a value holds a character that no header may.
func control(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' || c == 0x7f {
			return true
		}
	}
	return false
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
