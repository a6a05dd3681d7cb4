// Package name makes file names of data that nobody has checked: a template says where a
// record goes, and whatever the record holds, the path stays inside the directory, each
// of its names is one that file systems take, and different data give different paths.
//
//	t, err := name.Parse("files/{created:2006/01/02}/{type}/{id}.txt")
//	path, err := t.Path(nil, record, name.Unix)
//
// What is not safe in a value is written %XX, as in URLs, and so is % itself, so that a
// name can be read back; an empty value is %_; a name too long for a file system is cut,
// and ends with %~ and a hash of the whole.
package name

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"unicode/utf8"
)

// Style says which characters of a value stay as they are.
type Style uint8

const (
	// Unix keeps all but slashes, control characters, % and what is not UTF-8.
	Unix Style = iota
	// Portable keeps lower-case letters, digits, '-', '_' and '.' of ASCII, so that no two
	// names are alike where case does not count, and none is special to another system.
	Portable
)

// MaxLen is the longest name in bytes, on Linux, macOS and Windows.
const MaxLen = 255

const hexDigits = "0123456789ABCDEF"

// appendValue appends a value with what is not safe escaped. It is injective.
func appendValue(b []byte, v string, s Style) []byte {
	if v == "" {
		return append(b, "%_"...)
	}
	if s == Portable {
		for i := range len(v) {
			if c := v[i]; 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.' {
				b = append(b, c)
			} else {
				b = escape(b, c)
			}
		}
		return b
	}
	for i := 0; i < len(v); {
		c := v[i]
		if c < utf8.RuneSelf {
			if c < ' ' || c == '/' || c == '%' || c == 0x7f {
				b = escape(b, c)
			} else {
				b = append(b, c)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(v[i:])
		if r == utf8.RuneError && n == 1 || 0x80 <= r && r < 0xa0 { // not UTF-8, or a control character
			for _, c := range []byte(v[i : i+n]) {
				b = escape(b, c)
			}
		} else {
			b = append(b, v[i:i+n]...)
		}
		i += n
	}
	return b
}

func escape(b []byte, c byte) []byte { return append(b, '%', hexDigits[c>>4], hexDigits[c&15]) }

// finish makes a component of a path, b[from:], a name: nothing that begins with a dot by
// the data's doing, nothing that Windows refuses where it is to be portable, and nothing too long.
func finish(b []byte, from int, s Style, fixed bool) []byte {
	if !fixed {
		if b[from] == '.' {
			b = append(b, "  "...)
			copy(b[from+3:], b[from+1:])
			copy(b[from:], "%2E")
		}
		if s == Portable {
			if last := len(b) - 1; b[last] == '.' {
				b = escape(b[:last], '.')
			}
			if stem, _, _ := bytes.Cut(b[from:], []byte(".")); reserved(stem) {
				c := b[from]
				b = append(b, "  "...)
				copy(b[from+3:], b[from+1:])
				copy(b[from:], escape(nil, c))
			}
		}
	}
	if len(b)-from > MaxLen {
		b = cut(b, from)
	}
	return b
}

// reserved are the names of devices that Windows has in every directory.
func reserved(stem []byte) bool {
	switch string(stem) {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(stem) == 4 && (string(stem[:3]) == "com" || string(stem[:3]) == "lpt") && '0' <= stem[3] && stem[3] <= '9'
}

var letters = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// cut shortens a name that is too long, and keeps its ending if that is short. 130 bits of
// SHA-256 stand for what is gone.
func cut(b []byte, from int) []byte {
	whole := b[from:]
	sum := sha256.Sum256(whole)
	ending := whole[len(whole):]
	if i := bytes.LastIndexByte(whole, '.'); i > 0 && len(whole)-i <= 16 {
		ending = whole[i:]
		if bytes.IndexByte(ending, '%') >= 0 || !utf8.Valid(ending) {
			ending = whole[len(whole):]
		}
	}
	tail := append([]byte("%~"), letters.EncodeToString(sum[:])[:26]...)
	tail = append(tail, ending...)
	keep := MaxLen - len(tail)
	for keep > 0 && !utf8.RuneStart(whole[keep]) {
		keep--
	}
	for back := 1; back <= 2 && keep >= back; back++ { // not inside %XX
		if whole[keep-back] == '%' {
			keep -= back
			break
		}
	}
	return append(b[:from+keep], tail...)
}
