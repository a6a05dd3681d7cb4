package usage

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

// Whoever wraps it, it is found, and so is what it wraps.
func TestError(t *testing.T) {
	err := fmt.Errorf("more: %w", Errorf("--file %s: %w", "x", fs.ErrNotExist))
	var wrong *Error
	if !errors.As(err, &wrong) || !errors.Is(err, fs.ErrNotExist) || wrong.Error() != "--file x: file does not exist" {
		t.Errorf("%v", err)
	}
}

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		said   string
	}{
		{nil, Done, ""},
		{errors.New("the disk is full\n"), Failed, "prog: the disk is full\n"},
		{errors.New("two\n  lines"), Failed, "prog: two\n  lines\n"},
		{fmt.Errorf("more: %w", Errorf("--file:\n  two\tlines\n")), Wrong, "prog: more: --file: two lines\n"},
	} {
		var said strings.Builder
		if status := Status(&said, "prog", c.err); status != c.status || said.String() != c.said {
			t.Errorf("%v: status %d, %q", c.err, status, said.String())
		}
	}
}
