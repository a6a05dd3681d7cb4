// Package usage marks the errors of those who asked for what cannot be: they mend them by asking
// otherwise, and the command ends with exit status 2.
package usage

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Exit statuses of every command.
const (
	Done   = 0
	Failed = 1
	Wrong  = 2 // the command line cannot be meant
)

// Error is one, in words for the one who asked.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Errorf is fmt.Errorf for them.
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// Status is the exit status of a program that ends with err, which it tells w of; nil is success. An Error is told in one
// line, whatever a library or another command had to say in it.
func Status(w io.Writer, program string, err error) int {
	if err == nil {
		return Done
	}
	var wrong *Error
	if errors.As(err, &wrong) {
		fmt.Fprintf(w, "%s: %s\n", program, strings.Join(strings.Fields(err.Error()), " "))
		return Wrong
	}
	fmt.Fprintf(w, "%s: %s\n", program, strings.TrimSpace(err.Error()))
	return Failed
}
