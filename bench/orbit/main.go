// Command orbit (bench) holds package iss/orbit against the C++ of the authors of AIAA
// 2006-6753, which PyPI's sgp4 compiles.
//
//	python3 -m pip install --target DIR sgp4 numpy
//	PYTHONPATH=DIR GOMAXPROCS=1 go run ./bench/orbit
//
// First the same states and errors for random element sets of every kind, then speed: propagations a
// second on one core, by turns.
package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/headway-lab/headway/effect"
)

func main() {
	var (
		python = flag.String("python", "python3", "the `program` that has sgp4")
		sets   = flag.Int("sets", 10000, "how many element sets are compared, and how many make the batch")
		rounds = flag.Int("rounds", 15, "how often speed is measured; 0 leaves it out")
		seed   = flag.Uint64("seed", 1, "of the element sets")
	)
	flag.Parse()
	if flag.NArg() > 0 || *sets < 1 || *rounds != 0 && *rounds < effect.MinN {
		fmt.Fprintf(os.Stderr, "orbit: want -sets from 1 and -rounds 0 or from %d, and no arguments\n", effect.MinN)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *python, *sets, *rounds, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "orbit:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, python string, sets, rounds int, seed uint64) error {
	p, err := start(ctx, python)
	if err != nil {
		return err
	}
	defer p.stop()
	all := random(sets, seed)
	fmt.Printf("beside sgp4 %s for Python, C++ of 2023 May 9; %d element sets, seed %d\n\n", p.version, sets, seed)
	if err := compare(p, all); err != nil {
		return err
	}
	if rounds == 0 {
		return nil
	}
	return speed(p, all, rounds, seed)
}

// peer is a Python process that answers to binary messages: peer.py.
type peer struct {
	cmd     *exec.Cmd
	in      *bufio.Writer
	close   io.Closer
	out     *bufio.Reader
	errs    *strings.Builder
	version string
}

//go:embed peer.py
var program string

func start(ctx context.Context, python string) (*peer, error) {
	path, err := exec.LookPath(python)
	if err != nil {
		return nil, fmt.Errorf("there is no %s: install Python 3, or say with -python where it is", python)
	}
	cmd := exec.CommandContext(ctx, path, "-c", program)
	// One core is compared with one core.
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1")
	p := &peer{cmd: cmd, errs: new(strings.Builder)}
	cmd.Stderr = p.errs
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.in, p.close, p.out = bufio.NewWriterSize(in, 1<<16), in, bufio.NewReaderSize(out, 1<<16)
	line, err := p.out.ReadString('\n')
	if err != nil {
		cmd.Wait()
		if strings.Contains(p.errs.String(), "No module named") {
			return nil, fmt.Errorf("%s lacks a module (%s): python3 -m pip install --target DIR sgp4 numpy, and PYTHONPATH=DIR", path, lastLine(p.errs.String()))
		}
		return nil, fmt.Errorf("%s: %s", path, lastLine(p.errs.String()))
	}
	p.version = strings.TrimSpace(line)
	return p, nil
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

func (p *peer) stop() {
	p.close.Close()
	p.cmd.Wait()
}

// ask sends a command with numbers and reads n numbers.
func (p *peer) ask(command byte, numbers []float64, n int) ([]float64, error) {
	p.in.WriteByte(command)
	binary.Write(p.in, binary.LittleEndian, uint64(len(numbers)))
	binary.Write(p.in, binary.LittleEndian, numbers)
	if err := p.in.Flush(); err != nil {
		return nil, errors.Join(err, p.failed())
	}
	answer := make([]float64, n)
	if err := binary.Read(p.out, binary.LittleEndian, answer); err != nil {
		return nil, errors.Join(err, p.failed())
	}
	return answer, nil
}

func (p *peer) failed() error {
	p.close.Close()
	p.cmd.Wait()
	return errors.New(lastLine(p.errs.String()))
}
