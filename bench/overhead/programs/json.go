package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
)

type record struct {
	ID    int      `json:"id"`
	Name  string   `json:"name"`
	Score float64  `json:"score"`
	Tags  []string `json:"tags"`
}

// jsonSort is one goroutine that decodes two hundred records, sorts them and encodes
// them again: one core, a little garbage. An operation is one round.
func jsonSort() *atomic.Int64 {
	r := rand.New(rand.NewPCG(1, 2))
	records := make([]record, 200)
	for i := range records {
		records[i] = record{i, fmt.Sprintf("record %x", r.Uint64()), r.Float64(), []string{"a", "bc", fmt.Sprint(r.IntN(100))}}
	}
	text := encode(records)
	n := new(atomic.Int64)
	go func() {
		for {
			records := decode(text)
			order(records)
			if len(encode(records)) != len(text) {
				panic("records changed")
			}
			n.Add(1)
		}
	}()
	return n
}

func decode(text []byte) (records []record) {
	if err := json.Unmarshal(text, &records); err != nil {
		panic(err)
	}
	return records
}

func order(records []record) {
	slices.SortFunc(records, func(a, b record) int { return cmp.Compare(a.Score, b.Score) })
}

func encode(records []record) []byte {
	text, err := json.Marshal(records)
	if err != nil {
		panic(err)
	}
	return text
}
