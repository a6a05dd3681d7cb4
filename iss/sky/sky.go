package sky

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headway-lab/headway/iss/orbit"
)

// MaxObjects is how many objects a sky holds at most. The public catalogue has some
// 30,000; the limit keeps a server that lies from filling the memory.
const MaxObjects = 200_000

// Origin says where the elements of a sky come from.
type Origin struct {
	Text    string    // for people: "built in", a URL, a file
	BuiltIn bool      // nothing better was ever had
	Fetched time.Time // when they were fetched or read; zero if built in
}

func (o Origin) String() string {
	if o.Fetched.IsZero() {
		return o.Text
	}
	return o.Text + ", fetched " + o.Fetched.UTC().Format("2006-01-02 15:04 UTC")
}

// Sky is a set of objects. It does not change after [New].
type Sky struct {
	Origin   Origin
	Rejected int       // sets that New could not use
	Made     time.Time // when

	objects []Object // by number
	names   map[string]int32
	shared  map[string][]int32 // names that several objects have
}

// New makes a sky of element sets. If there are several for one object, the one with the
// latest epoch is taken. Sets that no orbit comes of are counted in Rejected; the error
// tells that nothing is left, or that there are more than [MaxObjects].
func New(sets []orbit.Elements, from Origin) (*Sky, error) {
	if len(sets) > MaxObjects {
		return nil, fmt.Errorf("sky: %d element sets; %d is the limit", len(sets), MaxObjects)
	}
	s := &Sky{Origin: from, Made: time.Now(), objects: make([]Object, 0, len(sets))}
	latest := slices.Clone(sets)
	slices.SortStableFunc(latest, func(a, b orbit.Elements) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), b.Epoch.Compare(a.Epoch))
	})
	for i, e := range latest {
		if i > 0 && latest[i-1].Number == e.Number && len(s.objects) > 0 && s.objects[len(s.objects)-1].Number == e.Number {
			continue
		}
		if e.Number <= 0 {
			s.Rejected++
			continue
		}
		o, err := orbit.New(e, orbit.WGS72, orbit.Improved)
		if err != nil {
			s.Rejected++
			continue
		}
		s.objects = append(s.objects, Object{
			Number: e.Number, Name: e.Name, Designator: e.Designator, Epoch: e.Epoch, orbit: o,
		})
	}
	if len(s.objects) == 0 {
		return nil, fmt.Errorf("sky: none of %d element sets can be used", len(sets))
	}
	s.name()
	return s, nil
}

// name gives every object its names, the strongest first.
func (s *Sky) name() {
	s.names = make(map[string]int32, 3*len(s.objects))
	s.shared = map[string][]int32{}
	claims := map[string][]int32{}
	// claim notes that an object would be called so at this place of the list.
	claim := func(name string, i int32) {
		if _, digits := number(name); name == "" || digits {
			return // a number means the catalogue's
		}
		if c := claims[name]; len(c) == 0 || c[len(c)-1] != i {
			claims[name] = append(c, i)
		}
	}
	settle := func() {
		for name, who := range claims {
			if _, taken := s.names[name]; taken || s.shared[name] != nil {
				continue
			}
			if len(who) == 1 {
				s.names[name] = who[0]
			} else {
				s.shared[name] = who
			}
		}
		clear(claims)
	}
	each := func(f func(i int32, o *Object)) {
		for i := range s.objects {
			f(int32(i), &s.objects[i])
		}
		settle()
	}
	each(func(i int32, o *Object) { claim(Label(o.Designator), i) })
	each(func(i int32, o *Object) {
		for _, name := range known[o.Number] {
			claim(name, i)
		}
	})
	each(func(i int32, o *Object) { claim(Label(o.Name), i) })
	each(func(i int32, o *Object) {
		for _, part := range parts(o.Name) {
			claim(Label(part), i)
		}
	})
	each(func(i int32, o *Object) { claim(numbered(o), i) })
	each(func(i int32, o *Object) {
		names := append(slices.Clone(known[o.Number]), Label(o.Name), numbered(o))
		for _, name := range names {
			if got, ok := s.names[name]; ok && got == i {
				o.Label = name
				return
			}
		}
		o.Label = strconv.Itoa(o.Number)
	})
}

// numbered is the name with the number, at most 63 bytes.
func numbered(o *Object) string {
	n := "-" + strconv.Itoa(o.Number)
	l := Label(o.Name)
	if l == "" {
		return ""
	}
	if len(l) > 63-len(n) {
		l = strings.TrimRight(l[:63-len(n)], "-")
	}
	return l + n
}

// ErrUnknown tells that no object has the name.
var ErrUnknown = errors.New("sky: no object has this name")

// AmbiguousError tells that several objects have the name.
type AmbiguousError struct {
	Name    string
	Objects []*Object // by number
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("sky: %d objects are called %s, the first of them %s", len(e.Objects), e.Name, e.Objects[0].Label)
}

// Find tells which object a name means. The name is a label in any case, or a number. The
// error is [ErrUnknown] or an [AmbiguousError].
func (s *Sky) Find(name string) (*Object, error) {
	if n, ok := number(name); ok {
		if o := s.Number(n); o != nil {
			return o, nil
		}
		return nil, ErrUnknown
	}
	if o := s.Lookup([]byte(name)); o != nil {
		return o, nil
	}
	name = strings.ToLower(name)
	if who := s.shared[name]; who != nil {
		e := &AmbiguousError{Name: name}
		for _, i := range who {
			e.Objects = append(e.Objects, &s.objects[i])
		}
		return nil, e
	}
	return nil, ErrUnknown
}

// Lookup is Find for who has no time: the object that a label means, in any case, or nil.
// It makes no garbage.
func (s *Sky) Lookup(label []byte) *Object {
	if len(label) > 63 {
		return nil
	}
	var low [63]byte
	b := low[:len(label)]
	digits := len(label) <= 9 && len(label) > 0
	n := 0
	for i, c := range label {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c < '0' || c > '9' {
			digits = false
		} else {
			n = n*10 + int(c-'0')
		}
		b[i] = c
	}
	if digits {
		return s.Number(n)
	}
	if i, ok := s.names[string(b)]; ok {
		return &s.objects[i]
	}
	return nil
}

// Number is the object with a catalogue number, or nil.
func (s *Sky) Number(n int) *Object {
	i, ok := slices.BinarySearchFunc(s.objects, n, func(o Object, n int) int { return cmp.Compare(o.Number, n) })
	if !ok {
		return nil
	}
	return &s.objects[i]
}

// Len is the number of objects.
func (s *Sky) Len() int { return len(s.objects) }

// All objects, by number.
func (s *Sky) All() iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		for i := range s.objects {
			if !yield(&s.objects[i]) {
				return
			}
		}
	}
}

// Search finds the objects that a text may mean, the likely ones first, at most limit: the
// name or number itself, then names that begin with it, then names that contain it.
func (s *Sky) Search(text string, limit int) []*Object {
	want := Label(text)
	if want == "" || limit <= 0 {
		return nil
	}
	var found [4][]*Object
	add := func(rank int, o *Object) {
		if len(found[rank]) < limit {
			found[rank] = append(found[rank], o)
		}
	}
	exact, _ := s.Find(want)
	if exact != nil {
		add(0, exact)
	}
	for o := range s.All() {
		if o == exact {
			continue
		}
		l := Label(o.Name)
		switch {
		case l == want:
			add(1, o)
		case strings.HasPrefix(l, want), strings.HasPrefix(strconv.Itoa(o.Number), want):
			add(2, o)
		case strings.Contains(l, want), strings.HasPrefix(Label(o.Designator), want):
			add(3, o)
		}
	}
	return slices.Concat(found[:]...)[:min(limit, len(found[0])+len(found[1])+len(found[2])+len(found[3]))]
}

// Station is the object that the service is about: the space station, or the first
// object where a catalogue has no station.
func (s *Sky) Station() *Object {
	if o := s.Number(25544); o != nil {
		return o
	}
	return &s.objects[0]
}

//go:embed builtin.tle
var builtin string

// BuiltIn is the sky that needs neither network nor disk: the stations, Hubble and a few
// others. Its elements are as old as the program; see builtin.tle for their origin.
func BuiltIn() *Sky {
	sets, err := orbit.Read(strings.NewReader(builtin), orbit.TLE)
	if err != nil {
		panic("sky: builtin.tle: " + err.Error()) // a test reads it
	}
	s, err := New(sets, Origin{Text: "built in", BuiltIn: true})
	if err != nil {
		panic("sky: builtin.tle: " + err.Error())
	}
	return s
}
