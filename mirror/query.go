package mirror

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/headway-lab/headway/mirror/name"
)

// query is a jq expression with a bound on its run time.
type query struct {
	code  *gojq.Code
	text  string
	plain []string // the fields of an expression such as .a.b, which needs no interpreter
	each  bool     // and [] after them
}

// queryTime is how long an expression may take for one page.
const queryTime = 30 * time.Second

func newQuery(s string) (*query, error) {
	code, err := name.Compile(s)
	if err != nil {
		return nil, err
	}
	q := &query{code: code, text: s}
	way, each := strings.CutSuffix(strings.TrimSpace(s), "[]")
	if fields, ok := plain(way); ok {
		q.plain, q.each = fields, each
	}
	return q, nil
}

// plain reads expressions such as . and .a.b.
func plain(s string) ([]string, bool) {
	if s == "." {
		return []string{}, true
	}
	rest, ok := strings.CutPrefix(s, ".")
	if !ok {
		return nil, false
	}
	fields := strings.Split(rest, ".")
	for _, f := range fields {
		for i, c := range f {
			if !(c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || i > 0 && '0' <= c && c <= '9') {
				return nil, false
			}
		}
		if f == "" {
			return nil, false
		}
	}
	return fields, true
}

// all calls yield with everything that the expression yields.
func (q *query) all(ctx context.Context, v any, yield func(any) error) error {
	if q.plain != nil {
		if done, err := q.direct(v, yield); done {
			return err
		}
	}
	late := fmt.Errorf("jq %s: it took more than %v", q.text, queryTime)
	ctx, cancel := context.WithTimeoutCause(ctx, queryTime, late)
	defer cancel()
	iter := q.code.RunWithContext(ctx, v)
	for {
		v, ok := iter.Next()
		if !ok {
			return nil
		}
		if err, bad := v.(error); bad {
			var halt *gojq.HaltError
			if errors.As(err, &halt) && halt.Value() == nil {
				return nil
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("jq %s: %w", q.text, err)
		}
		if err := yield(v); err != nil {
			return err
		}
	}
}

// direct does without the interpreter what it would do; done is false where that would be an error.
func (q *query) direct(v any, yield func(any) error) (done bool, err error) {
	for _, f := range q.plain {
		m, ok := v.(map[string]any)
		if !ok {
			return false, nil
		}
		v = m[f]
	}
	if !q.each {
		return true, yield(v)
	}
	list, ok := v.([]any)
	if !ok {
		return false, nil
	}
	for _, v := range list {
		if err := yield(v); err != nil {
			return true, err
		}
	}
	return true, nil
}

// one returns the first thing that the expression yields, nil if there is none.
func (q *query) one(ctx context.Context, v any) (any, error) {
	var first any
	stop := errors.New("enough")
	err := q.all(ctx, v, func(x any) error { first = x; return stop })
	if err == stop {
		err = nil
	}
	return first, err
}
