package elements

import (
	"fmt"
	"strings"
	"time"

	"github.com/headway-lab/headway/iss/orbit"
	"github.com/headway-lab/headway/iss/sky"
)

// publish puts the sets of all sources into the catalogue if they have changed, and says
// how the fetching stands.
func (k *Keeper) publish() error {
	var f sky.Fetch
	var sets []orbit.Elements
	var names, what []string
	var fetched time.Time
	for _, s := range k.sources {
		if t := s.state.Current; !t.IsZero() && (f.Done.IsZero() || t.Before(f.Done)) {
			f.Done = t
		}
		if t := s.state.Next; !s.file && (f.Next.IsZero() || t.Before(f.Next)) {
			f.Next = t
		}
		if t := s.state.Tried; t.After(f.Tried) {
			f.Tried = t
		}
		f.Failed = max(f.Failed, s.state.Failures)
		if s.state.Problem != "" {
			f.Problem = strings.TrimPrefix(f.Problem+"; "+s.url+": "+clip(s.state.Problem), "; ")
		}
		if len(s.sets) == 0 {
			continue
		}
		sets = append(sets, s.sets...)
		f.Rejected += s.bad.Sets
		names = append(names, s.url)
		what = append(what, s.url+s.state.SHA256+s.state.Fetched.String()+s.seen.time.String())
		if t := s.state.Fetched; fetched.IsZero() || t.Before(fetched) {
			fetched = t
		}
	}
	defer func() { // with what no orbit came of
		if served := k.cat.Now(); !served.Origin.BuiltIn {
			f.Rejected += served.Rejected
		}
		k.cat.SetFetch(f)
	}()
	if now := strings.Join(what, "\n"); len(sets) > 0 && now != k.served {
		next, err := sky.New(sets, sky.Origin{Text: strings.Join(names, ", "), Fetched: fetched})
		if err != nil {
			return err
		}
		if next.Rejected > 0 {
			k.o.Log(fmt.Sprintf("%s no use: no orbit comes of the elements", plural(next.Rejected, "element set is of", "element sets are of")))
		}
		k.cat.Swap(next)
		k.served = now
	}
	return nil
}
