package jobs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
)

type shapeNode struct {
	Name string       `json:"name"`
	Next []*shapeNode `json:"next"`
}

type shapePart struct {
	Size uint8 `json:"size"`
}

type shapeEmbedded struct {
	Region string `json:"region"`
}

type shapeParams struct {
	*shapeEmbedded
	Count   int                  `json:"count"`
	Share   float64              `json:"share"`
	Plain   bool                 // as it is written, in any case
	Wait    time.Duration        `json:"wait"`
	From    *time.Time           `json:"from"`
	Parts   map[string]shapePart `json:"parts"`
	Names   []string             `json:"names"`
	Tree    shapeNode            `json:"tree"`
	Text    netip.Addr           `json:"text"`
	Free    any                  `json:"free"`
	Three   [3]string            `json:"three"`
	Bytes   []byte               `json:"bytes"`
	Raw     json.RawMessage      `json:"raw"`
	Number  json.Number          `json:"number"`
	Quoted  int                  `json:"quoted,string"`
	Keys    map[int]string       `json:"keys"`
	Hidden  string               `json:"-"`
	private string
}

// TestShapeRefusesAsBindDoes: for values of every kind, the published shape and the
// function say the same.
func TestShapeRefusesAsBindDoes(t *testing.T) {
	t.Parallel()
	r := jobs.NewRegistry()
	jobs.Register(r, "f", func(_ context.Context, _ jobs.Run, p shapeParams) error { _ = p.private; return nil })
	jobs.Register(r, "none", func(context.Context, jobs.Run, jobs.NoParams) error { return nil })
	jobs.Register(r, "map", func(context.Context, jobs.Run, map[string]int) error { return nil })
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	values := []any{
		"text", true, int64(3), int64(-3), int64(300), 1.5, "30s", "2026-12-01T00:00:00Z",
		[]any{"a", "b"},
		[]any{int64(1)},
		map[string]any{"a": int64(1)},
		map[string]any{"a": map[string]any{"size": int64(256)}},
		map[string]any{"a": map[string]any{"sise": int64(1)}},
		map[string]any{"name": "x"},
		map[string]any{"nam": "x"},
		map[string]any{"name": "x", "next": []any{map[string]any{"name": int64(1)}}},
	}
	checked := 0
	for _, name := range []string{"f", "none", "map"} {
		published, err := json.Marshal(r.Shape(name))
		if err != nil {
			t.Fatal(err)
		}
		var shape jobs.Shape
		if err := json.Unmarshal(published, &shape); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{
			"region", "count", "share", "plain", "PLAIN", "Count", "wait", "from", "parts", "names", "tree", "free", "three", "raw", "hidden", "private", "cuont",
		} {
			for _, v := range values {
				params := map[string]any{key: v}
				_, want := r.Bind(name, params, jobs.Limits{})
				got := shape.Check(params)
				if key == "tree" && strings.Contains(fmt.Sprint(want), "tree.next") {
					want = nil // a type that refers to itself is described once
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s with %v: the shape says %v, the function %v", name, params, got, want)
				}
				checked++
			}
		}
	}
	if checked < 700 {
		t.Errorf("%d values were checked", checked)
	}
	if s := r.Shape("nobody"); s != nil {
		t.Errorf("the shape of no function is %v", s)
	}
	if s := r.Shape("f"); s.Check(map[string]any{"text": int64(1)}) != nil {
		t.Error("a type that parses itself is refused by its shape")
	}
}
