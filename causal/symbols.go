package causal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/headway-lab/headway/causal/control"
)

// frame is a logical call: inlined ones are frames of their own.
type frame struct {
	fn      string
	file    string
	line    int
	start   int // line of the function
	inlined bool
}

// stackOf is a symbolized sample, innermost first.
type stackOf struct {
	weight int64
	frames []frame
}

// symbolizer has the program itself, stopped before its first line, resolve
// addresses: its own tables know the inlined calls, stripped or not.
type symbolizer struct {
	bin, dir string
	known    map[uint64][]frame
}

func (s *symbolizer) resolve(ctx context.Context, base uint64, samples []control.Sample) ([]stackOf, error) {
	if s.known == nil {
		s.known = map[uint64][]frame{}
	}
	var want []uint64
	asked := map[uint64]bool{}
	for _, sm := range samples {
		for _, pc := range sm.PCs {
			if _, ok := s.known[pc-base]; !ok && !asked[pc] {
				asked[pc] = true
				want = append(want, pc)
			}
		}
	}
	if len(want) > 0 {
		if err := s.ask(ctx, base, want); err != nil {
			return nil, fmt.Errorf("resolving addresses: %w", err)
		}
	}
	out := make([]stackOf, 0, len(samples))
	for _, sm := range samples {
		st := stackOf{weight: sm.Weight}
		for _, pc := range sm.PCs {
			st.frames = append(st.frames, s.known[pc-base]...)
		}
		if len(st.frames) > 0 {
			out = append(out, st)
		}
	}
	return out, nil
}

func (s *symbolizer) ask(ctx context.Context, base uint64, pcs []uint64) error {
	var req bytes.Buffer
	binary.Write(&req, binary.LittleEndian, base)
	binary.Write(&req, binary.LittleEndian, pcs)
	path := filepath.Join(s.dir, "pcs")
	if err := os.WriteFile(path, req.Bytes(), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, s.bin)
	cmd.Env = append(os.Environ(), "HEADWAY_SYMBOLS="+path)
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	return s.read(base, pcs, out)
}

// read parses what the program wrote: a line a frame, an empty line after each address.
func (s *symbolizer) read(base uint64, pcs []uint64, out []byte) error {
	sc := bufio.NewScanner(bytes.NewReader(out))
	sc.Buffer(nil, 1<<20)
	i := 0
	var fs []frame
	for sc.Scan() {
		if i == len(pcs) {
			return fmt.Errorf("more answers than questions")
		}
		if sc.Text() == "" {
			// The last frame of an address is the function itself, the others are inlined into it.
			for j := range fs {
				fs[j].inlined = j < len(fs)-1
			}
			s.known[pcs[i]-base] = fs
			fs = nil
			i++
			continue
		}
		f := strings.Split(sc.Text(), "\t")
		if len(f) != 5 {
			return fmt.Errorf("line %q", sc.Text())
		}
		line, err1 := strconv.Atoi(f[2])
		start, err2 := strconv.Atoi(f[3])
		if err1 != nil || err2 != nil {
			return fmt.Errorf("line %q", sc.Text())
		}
		fs = append(fs, frame{fn: unescape(f[0]), file: f[1], line: line, start: start})
	}
	if err := sc.Err(); err != nil {
		return err
	}
	if i != len(pcs) {
		return fmt.Errorf("%d of %d addresses answered", i, len(pcs))
	}
	return nil
}
