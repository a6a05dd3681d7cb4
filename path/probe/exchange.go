package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/headway-lab/headway/wire"
)

// Answer is what came of one exchange.
type Answer struct {
	Phases Phases // with those of making the connection in its first exchange
	Begin  time.Time
	Reused bool
	Status int
	Body   int64 // bytes, as they came: not decompressed
	Header func(name string) string
}

// Do sends a request, reads the answer to its end and times it. Redirects are not followed. Where the server speaks
// another protocol, the error says which.
func (x *Conn) Do(ctx context.Context, r *wire.Request) (*Answer, error) {
	a := &Answer{Begin: time.Now(), Reused: x.used}
	if !x.used {
		a.Begin, a.Phases = x.Begin, x.Phases
	}
	x.used = true
	ctx, cancel := context.WithTimeoutCause(ctx, x.timeout, fmt.Errorf("no answer within %v", x.timeout))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { x.raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	do := x.over1
	if x.HTTP2 {
		do = x.over2
	}
	err := do(ctx, r, a)
	switch {
	case err == nil:
		err = x.refuses(a)
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case !a.Reused:
		err = x.why(err)
	}
	if err != nil {
		return nil, &StepError{"answer", err}
	}
	return a, nil
}

func (x *Conn) over1(_ context.Context, r *wire.Request, a *Answer) error {
	begin := time.Now()
	if err := x.h1.Send(r); err != nil {
		return err
	}
	sent := time.Now()
	p, err := x.h1.Receive()
	if err != nil {
		return err
	}
	first := x.h1.FirstByte()
	if a.Body, err = x.h1.Discard(); err != nil {
		return err
	}
	a.Phases.Send, a.Phases.Wait, a.Phases.Transfer = sent.Sub(begin), first.Sub(sent), time.Since(first)
	a.Status, a.Header = p.Status, p.Header
	return nil
}

// over2 takes the head for the first byte, and the request's leaving for a part of the waiting: the
// library does not tell.
func (x *Conn) over2(ctx context.Context, r *wire.Request, a *Answer) error {
	begin := time.Now()
	p, body, err := x.h2.Do(ctx, r)
	if err != nil {
		return err
	}
	defer body.Close()
	first := time.Now()
	b := make([]byte, 64<<10)
	for {
		n, err := body.Read(b)
		a.Body += int64(n)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return err
			}
			break
		}
	}
	a.Phases.Wait, a.Phases.Transfer = first.Sub(begin), time.Since(first)
	a.Status, a.Header = p.Status, p.Header
	return nil
}

// Reusable says whether another exchange may follow.
func (x *Conn) Reusable() bool {
	if x.h2 != nil {
		return x.h2.Open()
	}
	return x.h1.Reusable()
}
