package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const resumed = "-program ^seq-[23]-[17]$ -step 1ms -rounds 0 -settle 0 -coz off -resume -json "

// One who is interrupted again and again has the table of one who is not, each cell measured once but for those that were cut off.
func TestResume(t *testing.T) {
	file := filepath.Join(t.TempDir(), "truth.json")
	profiles := 0
	goOn := func(p fake, stop bool) (Results, string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		p.after = func() {
			profiles++
			if n++; n == 2 && stop {
				cancel()
			}
		}
		var stdout, stderr bytes.Buffer
		want := 0
		if stop {
			want = 130
		}
		if code := run(ctx, strings.Fields(resumed+file), &stdout, &stderr, p); code != want {
			t.Fatalf("exit %d, want %d: %s", code, want, &stderr)
		}
		return saved(t, file), stdout.String()
	}
	first, _ := goOn(fake{}, true) // the second of four cells is cut off
	if len(first.Rows) != 6 || !first.Rows[5].Unfinished || first.Rows[2].Unfinished {
		t.Fatalf("%+v", first.Rows)
	}
	second, _ := goOn(fake{err: errors.New("no luck")}, true) // the second fails, and so does the third, cut off
	if len(second.Rows) != 6 || second.Rows[0].Predicted == nil || second.Rows[3].Predicted != nil {
		t.Fatalf("%+v", second.Rows)
	}
	third, said := goOn(fake{shift: .5}, false)
	if len(third.Rows) != 12 || profiles != 2+2+3 || !third.Summary.Met || math.Abs(third.Summary.MeanError-.375) > 1e-9 {
		t.Errorf("%d rows of %d profiles, %+v", len(third.Rows), profiles, third.Summary)
	}
	if len(third.Earlier) != 2 || third.Earlier[0].Rows != 3 || third.Earlier[1].Rows != 0 || !third.Earlier[0].Started.Equal(first.Started) || third.Earlier[0].Interrupted == nil {
		t.Errorf("%+v", third.Earlier)
	}
	if strings.Count(said, "  main.siteA") != 6 || strings.Count(said, "  main.siteB") != 6 {
		t.Errorf("not all rows in\n%s", said)
	}
	fourth, again := goOn(fake{}, false) // nothing is left
	if profiles != 7 || len(fourth.Rows) != 12 || strings.Count(again, "  main.siteA") != 6 || fourth.Summary != third.Summary {
		t.Errorf("%d profiles, %d rows in\n%s", profiles, len(fourth.Rows), again)
	}
}

// What was measured otherwise is not gone on with, and stays as it is.
func TestResumeRefuses(t *testing.T) {
	good := here()
	good.Flags = strings.Fields("-coz=off -program=^seq-[23]-[17]$ -rounds=0 -settle=0 -step=1ms")
	same := func(change func(*Results)) []byte {
		r := good
		change(&r)
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, c := range []struct {
		name string
		file []byte
		says string
	}{
		{"no JSON", []byte("program step"), "is not what -json writes"},
		{"another schema", same(func(r *Results) { r.Schema = 7 }), "is not what -json writes"},
		{"other flags", same(func(r *Results) { r.Flags = []string{"-step=50us"} }), "-step=50us"},
		{"no flags", same(func(r *Results) { r.Flags = nil }), "no flags"},
		{"another Go", same(func(r *Results) { r.Go = "go1.2" }), "go1.2"},
		{"other processors", same(func(r *Results) { r.CPUs = 1000 }), "1000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "truth.json")
			if err := os.WriteFile(file, c.file, 0o644); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), strings.Fields(resumed+file), &stdout, &stderr, fake{})
			if code != 2 || stdout.Len() > 0 || strings.Count(stderr.String(), "\n") != 1 || !strings.Contains(stderr.String(), c.says) || !strings.Contains(stderr.String(), file) {
				t.Errorf("exit %d, %q", code, &stderr)
			}
			if b, err := os.ReadFile(file); err != nil || !bytes.Equal(b, c.file) {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
}

// The counts of parts in a file that someone edited are bounded by its rows.
func TestKeep(t *testing.T) {
	r := Results{Rows: []Row{{Program: "a"}, {Program: "b"}, {Program: "c"}}}
	for _, counts := range [][]int{{-1, 5}, {1, 1}, {4, 4}, nil} {
		r.Earlier = nil
		for _, n := range counts {
			r.Earlier = append(r.Earlier, Part{Rows: n})
		}
		got, sum := r.keep(func(r Row) bool { return r.Program != "b" }), 0
		for _, p := range got.Earlier {
			sum += p.Rows
		}
		if len(got.Rows) != 2 || sum != 2 || len(got.Earlier) != len(counts)+1 {
			t.Errorf("%v: %+v", counts, got)
		}
	}
}
