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
	d := dry{run: run{c: c, ctx: ctx, style: c.read.style}, ids: map[uint64]bool{}, paths: map[string]bool{}}
	wrong, done := 0, 0
	for done < n && !l.end {
		records, err := l.next(ctx)
		if err != nil {
			return explained(c.redacted(err))
		}
		for _, record := range records {
			if done == n {
				break
			}
			done++
			line, ok := d.place(record)
			if !ok {
				wrong++
			}
			if _, err := fmt.Fprintln(w, c.redact(line)); err != nil {
				return err
			}
		}
	}
	switch {
	case done == 0:
		return fmt.Errorf("list.records, %s, finds no records", c.List.Records)
	case wrong > 0:
		return fmt.Errorf("%w: %d of those above", ErrSome, wrong)
	}
	return nil
}

// dry is a run that fetches nothing.
type dry struct {
	run
	ids   map[uint64]bool
	paths map[string]bool
}

// place says where a record would go, as decide does.
func (d *dry) place(record any) (string, bool) {
	it, _, err := d.make(record, nil)
	switch {
	case d.ids[it.id] && err == nil:
		return it.path + "  is there once more: the list names this record again", true
	case err != nil:
		return "failed: " + err.Error(), false
	case d.paths[it.path]:
		return "failed: another record has the path " + it.path, false
	}
	d.ids[it.id], d.paths[it.path] = true, true
	if it.inline {
		return it.path, true
	}
	return it.path + "  " + it.url, true
}
