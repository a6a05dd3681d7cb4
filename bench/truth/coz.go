package main

import (
	"context"
	"errors"
)

type coz struct{}

func newCoz(ctx context.Context, module, dir string) (*coz, error) {
	return nil, errors.New("not connected yet")
}

func (z *coz) predict(ctx context.Context, c Cell, iters float64, d int) (*Interval, string) {
	return nil, "not connected yet"
}
