package usage

import (
	"errors"
	"fmt"
	"io/fs"
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
