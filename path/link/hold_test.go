package link

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Packets leave by due time, those in order in their order, however they are added and taken.
func TestHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h hold
		var want []int64
		last := int64(0)
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0, 1:
				last += int64(rapid.IntRange(0, 3).Draw(t, "gap"))
				h.add(packet{last, h.copy([]byte{byte(last)})})
				want = append(want, last)
			case 2:
				due := last + int64(rapid.IntRange(0, 9).Draw(t, "back"))
				h.addBack(packet{due, h.copy([]byte{byte(due)})})
				want = append(want, due)
			default:
				if len(want) == 0 {
					continue
				}
				slices.Sort(want)
				due := h.due()
				p := h.take()
				if p.due != want[0] || due != p.due || p.bytes[0] != byte(p.due) {
					t.Fatalf("took %v, due %d, want %d", p, due, want[0])
				}
				h.done(p.bytes)
				want = want[1:]
			}
			if h.len() != len(want) || (h.due() < 0) != (len(want) == 0) {
				t.Fatalf("%d held, want %d", h.len(), len(want))
			}
		}
	})
}
