package page

import (
	"sync"
	"time"

	"github.com/headway-lab/headway/iss/orbit"
	"github.com/headway-lab/headway/iss/sky"
)

// Drawing is what moves slowly.
type Drawing struct {
	Past  string    `json:"past"`
	Next  string    `json:"next"`
	Night [4]string `json:"night"`
	Sun   string    `json:"sun"`
}

// drawings keeps them: one takes 240 positions, a quarter of the time of a page, and is the same for all
// who look at an object within some seconds (docs/iss.md has how that was found).
type drawings struct {
	mu   sync.Mutex
	kept map[drawingKey]*Drawing
}

type drawingKey struct {
	number      int
	epoch, time int64
}

const mostDrawings = 500 // of some 10 KB

func (d *drawings) at(o *sky.Object, t time.Time) *Drawing {
	t = t.Truncate(redraw * time.Second)
	k := drawingKey{o.Number, o.Epoch.UnixNano(), t.Unix()}
	d.mu.Lock()
	v := d.kept[k]
	d.mu.Unlock()
	if v != nil {
		return v
	}
	v = draw(o, t) // twice, if two ask at once: they get the same
	d.mu.Lock()
	defer d.mu.Unlock()
	for old := range d.kept {
		if old.time != k.time || len(d.kept) >= mostDrawings {
			delete(d.kept, old)
		}
	}
	if d.kept == nil {
		d.kept = map[drawingKey]*Drawing{}
	}
	d.kept[k] = v
	return v
}

// draw the revolution behind and the one before.
func draw(o *sky.Object, t time.Time) *Drawing {
	period := min(o.Orbit().Period(), 48*time.Hour)
	step := max(period/120, time.Second)
	// A theory that ends within leaves a shorter line, which is right.
	past, _ := o.Orbit().Track(t.Add(-step*120), t, step)
	next, _ := o.Orbit().Track(t, t.Add(step*120), step)
	return &Drawing{Past: line(past), Next: line(next), Night: night(t), Sun: spot(orbit.SubSolar(t))}
}
