// Package style is what all pages look alike by: the colours of both themes, the type, and the bar on top.
package style

import (
	_ "embed"
	"slices"
)

//go:embed base.css
var base []byte

// Sheet is the style sheet of a page: own follows what all pages have in common, and may overrule it. A page chooses
// its theme by the attribute data-theme of its root element, light or dark; without, by what the browser prefers.
func Sheet(own []byte) []byte { return slices.Concat(base, own) }
