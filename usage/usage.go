// Package usage marks the errors of those who asked for what cannot be: they mend them by asking
// otherwise, and the command ends with exit status 2.
package usage

import "fmt"

// Error is one, in words for the one who asked.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Errorf is fmt.Errorf for them.
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }
