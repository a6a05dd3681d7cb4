package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// choice is a flag that takes one of a few words.
type choice struct {
	to    *string
	words []string
}

func newChoice(to *string, words ...string) *choice { return &choice{to, words} }

func (c *choice) Type() string   { return "word" }
func (c *choice) String() string { return *c.to }
func (c *choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return fmt.Errorf("want %s", oneOf(c.words))
	}
	*c.to = s
	return nil
}

func oneOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// splitFlags splits each argument of --build at blanks. Quotes, single or double,
// hold together what contains them, anywhere in a flag; there are no escapes.
func splitFlags(args []string) ([]string, error) {
	var flags []string
	for _, arg := range args {
		var flag strings.Builder
		quote, started := rune(0), false
		for _, c := range arg {
			switch {
			case quote != 0 && c == quote:
				quote = 0
			case quote != 0:
				flag.WriteRune(c)
			case c == '\'' || c == '"':
				quote, started = c, true
			case unicode.IsSpace(c):
				if started {
					flags = append(flags, flag.String())
				}
				flag.Reset()
				started = false
			default:
				flag.WriteRune(c)
				started = true
			}
		}
		if quote != 0 {
			return nil, usagef("--build %s: a quote %c is left open", arg, quote)
		}
		if started {
			flags = append(flags, flag.String())
		}
	}
	return flags, nil
}
