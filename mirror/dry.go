package mirror

import (
	"context"
	"fmt"
	"io"
)

// DryRun reads as much of the list as it takes to print where the first n records would go, and
// asks for no record.
func DryRun(ctx context.Context, c *Config, n int, w io.Writer) error {
	f := newFetcher(ctx, c, 1)
	defer f.close()
	l := newLister(f, c, "")
	defer l.close()
	paths := map[string]bool{}
	wrong := 0
	for done := 0; done < n && !l.end; {
		records, err := l.next(ctx)
		if err != nil {
			return explained(c.redacted(err))
		}
		for _, record := range records {
			if done++; done > n {
				break
			}
			line, ok := c.place(record, paths)
			if !ok {
				wrong++
			}
			if _, err := fmt.Fprintln(w, c.redact(line)); err != nil {
				return err
			}
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%w: %d of those above", ErrSome, wrong)
	}
	return nil
}

// place says where a record would go.
func (c *Config) place(record any, paths map[string]bool) (string, bool) {
	style := c.read.style
	b, err := c.read.path.Path(nil, record, style)
	if err != nil {
		return "failed: " + err.Error(), false
	}
	line := string(b)
	if paths[line] {
		return "failed: a second record with the path " + line, false
	}
	paths[line] = true
	if c.read.url != nil {
		u, err := c.read.url.Expand(nil, record)
		if err != nil {
			return "failed: " + err.Error(), false
		}
		line += "  " + string(u)
	}
	return line, true
}
