package causal

import (
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/headway-lab/headway/causal/control"
	"github.com/headway-lab/headway/causal/instrument"
)

// site is a piece of code whose speed-up is tried.
type site struct {
	name  string
	key   siteKey
	share float64 // of the CPU samples
	file  string
	line  int

	around []string // functions that call it and take the same time

	whole   bool            // counts with what it calls, whatever --cum says
	weights map[int]float64 // by mark: the site's part of the time in it
	inherit bool            // marks not in weights leave the site as it is
	carried float64         // part of the site's samples that some mark carries
}

// siteKey identifies a site among the frames of a sample.
type siteKey struct {
	fn   string // function; of a call site the callee
	file string // of a line or call site
	line int
}

// shortFile is a file's name as reports show it: package path and base name.
func shortFile(f frame) string {
	pkg := packageOf(f.fn)
	return path.Join(pkg, path.Base(f.file))
}

// packageOf returns the package of a function's symbol.
func packageOf(fn string) string {
	slash := strings.LastIndexByte(fn, '/') + 1
	// A generic function's type arguments may hold slashes.
	if b := strings.IndexByte(fn, '['); b >= 0 && b < slash {
		slash = strings.LastIndexByte(fn[:b], '/') + 1
	}
	dot := strings.IndexByte(fn[slash:], '.')
	if dot < 0 {
		return fn
	}
	return fn[:slash+dot]
}

// keys returns the sites that a sample counts for: the innermost frame's, or
// with cum those of all frames.
func keys(o *Options, st *stackOf) []siteKey {
	n := 1
	if o.Cumulative {
		n = len(st.frames)
	}
	var out []siteKey
	for i := 0; i < n; i++ {
		f := st.frames[i]
		var k siteKey
		switch o.By {
		case ByLine:
			k = siteKey{file: f.file, line: f.line}
		case ByCallSite:
			if i+1 == len(st.frames) {
				continue
			}
			k = siteKey{fn: f.fn, file: st.frames[i+1].file, line: st.frames[i+1].line}
		default:
			k = siteKey{fn: f.fn}
		}
		dup := false
		for _, have := range out {
			dup = dup || have == k
		}
		if !dup {
			out = append(out, k)
		}
	}
	return out
}

func (k siteKey) has(o *Options, st *stackOf) bool {
	for _, have := range keys(o, st) {
		if have == k {
			return true
		}
	}
	return false
}

// name of a site, as reports show it.
func siteName(o *Options, st *stackOf, k siteKey) string {
	for i, f := range st.frames {
		switch o.By {
		case ByLine:
			if f.file == k.file && f.line == k.line {
				return shortFile(f) + ":" + strconv.Itoa(f.line)
			}
		case ByCallSite:
			if f.fn == k.fn && i+1 < len(st.frames) && st.frames[i+1].file == k.file && st.frames[i+1].line == k.line {
				return k.fn + " at " + shortFile(st.frames[i+1]) + ":" + strconv.Itoa(k.line)
			}
		}
	}
	return k.fn
}

// candidates ranks the sites of the samples.
func candidates(o *Options, stacks []stackOf) []*site {
	byKey := map[siteKey]*site{}
	lines := map[siteKey]map[int]int64{}
	var total int64
	for i := range stacks {
		st := &stacks[i]
		total += st.weight
		for _, k := range keys(o, st) {
			s := byKey[k]
			if s == nil {
				s = &site{key: k, name: siteName(o, st, k)}
				byKey[k] = s
				lines[k] = map[int]int64{}
			}
			s.share += float64(st.weight)
			for _, f := range st.frames {
				if o.By == ByFunc || o.By == "" {
					if f.fn == k.fn {
						s.file = f.file
						lines[k][f.line] += st.weight
						break
					}
				}
			}
			if k.file != "" {
				s.file, s.line = k.file, k.line
			}
		}
	}
	var out []*site
	for k, s := range byKey {
		if s.line == 0 {
			best := int64(-1)
			for line, w := range lines[k] {
				if w > best || w == best && line < s.line {
					best, s.line = w, line
				}
			}
		}
		if total > 0 {
			s.share /= float64(total)
		}
		if machinery(k) {
			continue
		}
		if o.Include != nil && !o.Include.MatchString(s.name) || o.Exclude != nil && o.Exclude.MatchString(s.name) {
			continue
		}
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].share != out[j].share {
			return out[i].share > out[j].share
		}
		return out[i].name < out[j].name
	})
	return out
}

// leastShare is the part of the samples that a site has to have to be tried.
const leastShare = 0.005

// alike is how much of a site's samples may differ from those of one within it that stands for both.
const alike = 0.03

// distinct keeps of sites that call one another, and take the same time, the innermost: trying them all would find the
// same again and again. They come with the largest share first.
func distinct(o *Options, sites []*site, stacks []stackOf) []*site {
	index := map[siteKey]int{}
	for i, s := range sites {
		index[s.key] = i
	}
	weight := make([]int64, len(sites))
	within := map[[2]int]int64{} // samples of the first in which the second is further in
	for i := range stacks {
		var in []int // from the innermost
		for _, k := range keys(o, &stacks[i]) {
			if j, ok := index[k]; ok {
				weight[j] += stacks[i].weight
				for _, inner := range in {
					within[[2]int{j, inner}] += stacks[i].weight
				}
				in = append(in, j)
			}
		}
	}
	dropped := make([]bool, len(sites))
	for inner := len(sites) - 1; inner >= 0; inner-- {
		if dropped[inner] {
			continue
		}
		for outer := range sites {
			if !dropped[outer] && float64(within[[2]int{outer, inner}]) >= (1-alike)*float64(max(weight[outer], weight[inner])) {
				dropped[outer] = true
				sites[inner].around = slices.Concat(sites[inner].around, []string{shortName(sites[outer].name)}, sites[outer].around)
			}
		}
	}
	kept := sites[:0:0]
	for i, s := range sites {
		if !dropped[i] {
			kept = append(kept, s)
		}
	}
	return kept
}

// machinery reports whether a site is the root of every goroutine, or headway's own.
func machinery(k siteKey) bool {
	if k.fn == "runtime.goexit" || k.fn == "runtime.main" || strings.HasPrefix(k.fn, "runtime.headway") {
		return true
	}
	base := path.Base(k.file)
	return strings.HasPrefix(base, "headway") && strings.HasSuffix(path.Dir(k.file), "/runtime") ||
		k.fn == "" && strings.HasSuffix(path.Dir(k.file), "/src/runtime") && (strings.HasPrefix(base, "asm_") || base == "proc.go")
}

// carrier is a mark in the build: a function's body, or a statement.
type carrier struct {
	id    int
	built int    // its number in the program
	fn    string // symbol; of a statement the function around it
	file  string
	line  int // first line of the function; of a statement its line
	stmt  bool
	pkg   string // import path
}

// carriers is the set of marks of a build.
type carriers struct {
	list  []*carrier
	rest  []int // further marks in the program, which hand on what is around them
	funcs map[string]*carrier
	lines map[siteKey]*carrier
	tiny  map[string]bool // functions too short to be worth two clock readings
}

func newCarriers() *carriers {
	return &carriers{funcs: map[string]*carrier{}, lines: map[siteKey]*carrier{}, tiny: map[string]bool{}}
}

// without keeps what is known to be too short, adds to it, and keeps nothing else.
func (c *carriers) without(tiny []*carrier) *carriers {
	n := newCarriers()
	for k := range c.tiny {
		n.tiny[k] = true
	}
	for _, t := range tiny {
		n.tiny[t.key()] = true
	}
	return n
}

// add gives a mark the next number.
func (c *carriers) add(k *carrier) {
	k.id = len(c.list) + 1
	k.built = k.id
	c.list = append(c.list, k)
	if k.stmt {
		c.lines[siteKey{file: k.file, line: k.line}] = k
	} else {
		c.funcs[k.fn] = k
	}
}

// find returns the mark at the same place.
func (c *carriers) find(k *carrier) *carrier {
	if k.stmt {
		return c.lines[siteKey{file: k.file, line: k.line}]
	}
	return c.funcs[k.fn]
}

func (c *carrier) key() string {
	if c.stmt {
		return c.file + ":" + strconv.Itoa(c.line)
	}
	return c.fn
}

// addFunc marks the function of a frame and reports whether that can be done.
func (c *carriers) addFunc(pr *program, f frame) bool {
	if c.funcs[f.fn] != nil {
		return true
	}
	if c.tiny[f.fn] || f.inlined || f.start <= 0 || len(c.list)+1 >= control.MaxID {
		return false
	}
	p, _ := pr.owner(f)
	if p == nil || pr.low(p.path()) {
		return false
	}
	file := pr.parse(f.file)
	if file == nil {
		return false
	}
	ok := false
	for _, fn := range instrument.Functions(pr.fset, file) {
		if fn.Line == f.start && fn.Body != nil && len(fn.Body.List) > 0 && fn.Markable() {
			ok = true
		}
	}
	if !ok {
		return false
	}
	c.add(&carrier{fn: f.fn, file: f.file, line: f.start, pkg: p.path()})
	return true
}

// addLine marks the statement at a frame's line; the function around it has to be marked too.
func (c *carriers) addLine(pr *program, f frame) bool {
	key := siteKey{file: f.file, line: f.line}
	if c.lines[key] != nil {
		return true
	}
	if c.tiny[f.file+":"+strconv.Itoa(f.line)] || len(c.list)+1 >= control.MaxID {
		return false
	}
	p, _ := pr.owner(f)
	if p == nil || pr.low(p.path()) {
		return false
	}
	file := pr.parse(f.file)
	if file == nil || !instrument.Bracketable(pr.fset, file, f.line) {
		return false
	}
	c.add(&carrier{fn: f.fn, file: f.file, line: f.line, stmt: true, pkg: p.path()})
	return true
}

// owner finds the package whose file a frame is in.
func (pr *program) owner(f frame) (*pkg, string) {
	for _, p := range pr.byPath(f.fn) {
		for _, src := range p.sources() {
			if src == f.file {
				return p, localName(p, f.fn)
			}
		}
	}
	return nil, ""
}

// marks adds the carriers to a build.
func (c *carriers) marks(k *marks) {
	for _, m := range c.list {
		mark := instrument.Mark{Kind: instrument.Site, ID: uint32(m.built), File: m.file, Line: m.line}
		if !m.stmt {
			mark.Func = m.fn
		}
		k.add(m.pkg, mark)
	}
}

// innermost returns the mark that a sample was taken in, nil if in none.
func (c *carriers) innermost(st *stackOf) *carrier {
	for _, f := range st.frames {
		if k := c.lines[siteKey{file: f.file, line: f.line}]; k != nil {
			return k
		}
		if k := c.funcs[f.fn]; k != nil && !f.inlined {
			return k
		}
	}
	return nil
}

func (c *carriers) contains(k *carrier, st *stackOf) bool {
	for _, f := range st.frames {
		if k.stmt && f.file == k.file && f.line == k.line || !k.stmt && f.fn == k.fn && !f.inlined {
			return true
		}
	}
	return false
}

// choose marks what the sites need: for every sample of a site the innermost
// function that can be marked, and where the whole of a call counts the function
// or statement itself.
func (c *carriers) choose(pr *program, o *Options, sites []*site, stacks []stackOf) {
	for _, s := range sites {
		need := map[string]int64{}
		frames := map[string]frame{}
		var total int64
		for i := range stacks {
			st := &stacks[i]
			if !s.key.has(o, st) {
				continue
			}
			total += st.weight
			if o.Cumulative || o.By == ByCallSite {
				for j, f := range st.frames {
					if s.key.fn != "" && s.key.file == "" && f.fn == s.key.fn {
						c.addFunc(pr, f)
					}
					if s.key.file != "" && f.file == s.key.file && f.line == s.key.line {
						if c.addLine(pr, f) {
							for _, outer := range st.frames[j:] {
								if !outer.inlined {
									c.addFunc(pr, outer)
									break
								}
							}
						}
					}
				}
			}
			for _, f := range st.frames {
				if c.funcs[f.fn] != nil && !f.inlined {
					break // carried already
				}
				if f.inlined || c.tiny[f.fn] || pr.low(packageOf(f.fn)) {
					continue
				}
				need[f.fn] += st.weight
				frames[f.fn] = f
				if p, _ := pr.owner(f); p != nil {
					break
				}
			}
		}
		var names []string
		for n := range need {
			names = append(names, n)
		}
		sort.Slice(names, func(i, j int) bool {
			if need[names[i]] != need[names[j]] {
				return need[names[i]] > need[names[j]]
			}
			return names[i] < names[j]
		})
		for i, n := range names {
			if i >= 12 || float64(need[n]) < 0.02*float64(total) {
				break
			}
			c.addFunc(pr, frames[n])
		}
	}
}

// weigh computes a site's weights from samples taken in the marked build.
func (c *carriers) weigh(o *Options, s *site, stacks []stackOf) {
	s.weights = map[int]float64{}
	s.inherit = false
	if k := c.own(o, s); k != nil {
		// The mark is the site's own, and everything within counts.
		var in, all float64
		for i := range stacks {
			if st := &stacks[i]; c.contains(k, st) {
				all += float64(st.weight)
				if s.key.has(o, st) {
					in += float64(st.weight)
				}
			}
		}
		s.inherit = true
		s.weights[k.id] = 1
		if all > 0 && !o.Cumulative && !s.whole {
			s.weights[k.id] = in / all
		}
		s.carried = 1
		return
	}
	in, all := map[int]float64{}, map[int]float64{}
	var total, carried float64
	for i := range stacks {
		st := &stacks[i]
		k := c.innermost(st)
		has := s.key.has(o, st)
		if has {
			total += float64(st.weight)
		}
		if k == nil {
			continue
		}
		all[k.id] += float64(st.weight)
		if has {
			in[k.id] += float64(st.weight)
			carried += float64(st.weight)
		}
	}
	// The marks that carry nearly all of it do; every further one costs two
	// readings of the clock a call.
	ids := make([]int, 0, len(in))
	for id := range in {
		ids = append(ids, id)
	}
	sort.Slice(ids, func(i, j int) bool {
		if in[ids[i]] != in[ids[j]] {
			return in[ids[i]] > in[ids[j]]
		}
		return ids[i] < ids[j]
	})
	sum := 0.0
	for _, id := range ids {
		if sum > 0.95*carried {
			break
		}
		s.weights[id] = in[id] / all[id]
		sum += in[id]
	}
	if total > 0 {
		s.carried = sum / total
	}
}

// own returns the mark that is exactly the site, if there is one.
func (c *carriers) own(o *Options, s *site) *carrier {
	if s.key.file != "" && (o.Cumulative || o.By == ByCallSite) {
		return c.lines[siteKey{file: s.key.file, line: s.key.line}]
	}
	if s.key.file == "" && (o.Cumulative || s.whole) {
		return c.funcs[s.key.fn]
	}
	return nil
}
