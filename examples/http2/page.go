package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// homePage is the home page of Lantern, a search engine that does not exist: a
// logo, a form and a few links in a great deal of inlined style and script, about
// 48 KB as such pages have. It is the same at every start.
func homePage() []byte {
	const size = 48 << 10
	r := rand.New(rand.NewPCG(2019, 48))
	var b strings.Builder
	b.WriteString(`<!doctype html><html itemscope="" itemtype="https://schema.org/WebPage" lang="en"><head><meta charset="UTF-8"><meta content="Lantern lights the way: pages, pictures, maps and more." name="description"><meta content="noodp" name="robots"><meta content="origin" name="referrer"><title>Lantern</title>`)
	b.WriteString("<style>body,td,a,p,.h{font-family:arial,sans-serif}body{margin:0;overflow-y:scroll}#bar{font-size:13px;padding:3px 8px 0}.q{color:#00c}.logo{height:92px;margin:64px auto 20px}")
	for b.Len() < 9<<10 {
		rule(&b, r)
	}
	b.WriteString(`</style><script nonce="Zx3kQm1T0vSgqV5eUw8rLA">(function(){var _l={};`)
	for b.Len() < size-7<<10 {
		function(&b, r)
	}
	b.WriteString(`window.lantern=_l;})();</script></head><body><div id="bar"><nobr>`)
	for _, s := range []string{"Pictures", "Maps", "News", "Mail", "Translate", "Books", "Calendar", "More"} {
		fmt.Fprintf(&b, `<a class="q" href="https://%s.lantern.example/?tab=w%c">%s</a> `, strings.ToLower(s), s[0]|0x20, s)
	}
	b.WriteString(`</nobr></div><center><div class="logo">`)
	logo(&b, r)
	b.WriteString(`</div><form action="/search" name="f"><input name="ie" value="UTF-8" type="hidden"><input name="hl" value="en" type="hidden"><input autocomplete="off" class="lst" maxlength="2048" name="q" size="57" title="Lantern Search"><br><input class="lsb" name="b" type="submit" value="Lantern Search"><input class="lsb" name="l" type="submit" value="First Light"></form><p>`)
	for b.Len() < size-1<<10 {
		fmt.Fprintf(&b, `<a href="/setprefs?sig=%s&amp;hl=%s" data-ved="%s">%s</a> `, token(r, 28), token(r, 2), token(r, 43), word(r))
	}
	b.WriteString(`</p><footer><a href="/about">About Lantern</a> <a href="/privacy">Privacy</a> <a href="/terms">Terms</a></footer></center></body></html>`)
	return []byte(b.String())
}

var (
	selectors  = []string{"div", "span", "a:hover", "input", "td", "li", "img", "button:active", "g-popup", "form>div"}
	properties = []string{"margin:0 %dpx", "padding:%dpx 0", "height:%dpx", "border-radius:%dpx", "line-height:%dpx", "background-position:0 -%dpx", "z-index:%d", "max-width:%dpx"}
	bodies     = []string{
		"if(!%[1]s)return null;var %[2]s=%[1]s.%[3]s;return %[2]s?%[2]s.%[4]s():%[1]s",
		"for(var %[2]s=0;%[2]s<%[1]s.length;++%[2]s)_l.%[3]s(%[1]s[%[2]s],%[2]s)",
		"try{_l.%[3]s=%[1]s||{};_l.%[3]s.%[4]s=!0}catch(%[2]s){_l.log(%[2]s,{c:\"%[5]s\"})}",
		"return function(%[2]s){return %[1]s.%[3]s(%[2]s)&&_l.%[4]s(%[2]s,\"%[5]s\")}",
		"%[1]s.addEventListener(\"%[4]s\",function(%[2]s){%[2]s.preventDefault();_l.%[3]s(%[2]s.target)},!1)",
		"var %[2]s=document.createElement(\"script\");%[2]s.src=\"/xjs/_/js/k=\"+%[1]s+\"/m=%[5]s\";_l.%[3]s(%[2]s)",
	}
	words = strings.Fields("Deutsch Français Italiano Rumantsch Español Português Nederlands Svenska Suomi Polski Türkçe Ελληνικά Русский 日本語 한국어 Gaeilge Cymraeg Euskara Íslenska Magyar")
)

func rule(b *strings.Builder, r *rand.Rand) {
	fmt.Fprintf(b, ".%s %s{", token(r, 6), pick(r, selectors))
	for range 1 + r.IntN(4) {
		fmt.Fprintf(b, pick(r, properties)+";", r.IntN(400))
	}
	b.WriteString("}")
}

func function(b *strings.Builder, r *rand.Rand) {
	arg, local := "a", string(rune('b'+r.IntN(8)))
	fmt.Fprintf(b, "_l.%s=function(%s){", token(r, 3), arg)
	fmt.Fprintf(b, pick(r, bodies), arg, local, token(r, 3), token(r, 4), token(r, 8))
	b.WriteString("};")
}

// logo draws an inline picture, as home pages do on holidays.
func logo(b *strings.Builder, r *rand.Rand) {
	b.WriteString(`<svg width="272" height="92" viewBox="0 0 272 92"><path fill="#e8b00f" d="M0 0`)
	for range 120 {
		fmt.Fprintf(b, "l%d.%02d %d.%02d", r.IntN(40)-20, r.IntN(100), r.IntN(20)-10, r.IntN(100))
	}
	b.WriteString(`z"/></svg>`)
}

func token(r *rand.Rand, n int) string {
	const first, letters = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	t := make([]byte, n)
	t[0] = first[r.IntN(len(first))]
	for i := 1; i < n; i++ {
		t[i] = letters[r.IntN(len(letters))]
	}
	return string(t)
}

func word(r *rand.Rand) string                { return pick(r, words) }
func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }
