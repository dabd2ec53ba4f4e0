package jobs_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
)

func nothing(context.Context, jobs.Run, jobs.NoParams) error { return nil }

func TestRegisterMistakes(t *testing.T) {
	t.Parallel()
	r := jobs.NewRegistry()
	jobs.Register(r, "good", nothing)
	if err := r.Err(); err != nil {
		t.Fatalf("a good function is refused: %v", err)
	}
	jobs.Register(r, "good", nothing)
	jobs.Register(r, "-bad", nothing)
	jobs.Register(r, strings.Repeat("x", 101), nothing)
	jobs.Register[jobs.NoParams](r, "missing", nil)
	jobs.Register(r, "number", func(context.Context, jobs.Run, int) error { return nil })
	jobs.Register(r, "map", func(context.Context, jobs.Run, map[string]int) error { return nil })

	want := []string{
		`"good": the name is registered already`,
		`"-bad": a name has`,
		`": a name has`,
		`"missing": the function is nil`,
		`"number": its params are a int`,
	}
	lines := strings.Split(r.Err().Error(), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d mistakes, want %d:\n%v", len(lines), len(want), r.Err())
	}
	for i := range want {
		if !strings.Contains(lines[i], want[i]) {
			t.Errorf("mistake %q, want %q", lines[i], want[i])
		}
	}
	if got := r.Names(); !slices.Equal(got, []string{"good", "map"}) {
		t.Errorf("names %v", got)
	}
}

// A fragile panics whenever it is checked.
type fragile struct {
	Limits map[string]int `json:"limits"`
}

func (f *fragile) Validate() error { f.Limits["x"]++; return nil }

// A panic of a params type or of a middleware is a mistake of that job: whoever reloads, or checks
// the params of a request, goes on.
func TestBindRefusesWhatPanics(t *testing.T) {
	t.Parallel()
	r := jobs.NewRegistry()
	jobs.Register(r, "fragile", func(context.Context, jobs.Run, fragile) error { return nil })
	jobs.Register(r, "middleware", nothing, func(jobs.Handler) jobs.Handler { panic("no database") })
	for name, want := range map[string]string{"fragile": "panic: assignment to entry in nil map at jobs_test.", "middleware": "panic: no database at jobs_test."} {
		if _, err := r.Bind(name, nil, jobs.Limits{}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := r.Bind("fragile", map[string]any{"limits": map[string]any{"a": 1}}, jobs.Limits{}); err != nil {
		t.Error(err)
	}
}

func TestBindUnknownFunction(t *testing.T) {
	t.Parallel()
	r := jobs.NewRegistry()
	jobs.Register(r, "report", nothing)
	jobs.Register(r, "cleanup", nothing)
	_, err := r.Bind("reprot", nil, jobs.Limits{})
	if !errors.Is(err, jobs.ErrUnknownFunc) {
		t.Fatalf("got %v", err)
	}
	if want := `unknown function "reprot": did you mean "report"? (known: cleanup, report)`; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	_, err = r.Bind("zzz", nil, jobs.Limits{})
	if strings.Contains(err.Error(), "mean") {
		t.Errorf("nothing is like zzz: %v", err)
	}
}

func TestNoParamsTakesNone(t *testing.T) {
	t.Parallel()
	r := jobs.NewRegistry()
	jobs.Register(r, "f", nothing)
	_, err := r.Bind("f", map[string]any{"a": 1}, jobs.Limits{})
	if err == nil || err.Error() != "a: unknown key: there are none here, remove it" {
		t.Errorf("got %v", err)
	}
	if _, err := r.Bind("f", nil, jobs.Limits{}); err != nil {
		t.Errorf("no params are refused: %v", err)
	}
}

type checked struct {
	Size  int           `json:"size"`
	Wait  time.Duration `json:"wait"`
	Label string        `json:"label"`
}

func (c *checked) SetDefaults() { c.Size, c.Label = 5, "default" }

func (c *checked) Validate() error {
	var errs []error
	if c.Size > 10 {
		errs = append(errs, &jobs.ParamError{Path: []string{"size"}, Msg: "at most 10"})
	}
	if c.Label == "" {
		errs = append(errs, errors.New("label is empty"))
	}
	return errors.Join(errs...)
}

func (c checked) ValidateLimits(l jobs.Limits) error {
	if c.Wait >= l.SafetyMargin {
		return &jobs.ParamError{Path: []string{"wait"}, Msg: "below the margin"}
	}
	return nil
}

func TestBindValidates(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		params map[string]any
		want   string
	}{
		"defaults are good":          {nil, ""},
		"own check":                  {map[string]any{"size": 11}, "size: at most 10"},
		"limits":                     {map[string]any{"wait": "1s"}, "wait: below the margin"},
		"all of them":                {map[string]any{"size": 11, "wait": "1s", "label": ""}, "size: at most 10\nlabel is empty\nwait: below the margin"},
		"not of what did not decode": {map[string]any{"size": "x", "wait": "1s"}, "size: is a string: want a whole number\nwait: below the margin"},
	}
	r := jobs.NewRegistry()
	jobs.Register(r, "f", func(context.Context, jobs.Run, checked) error { return nil })
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := r.Bind("f", tt.params, jobs.Limits{SafetyMargin: time.Second})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestHandlerGetsItsOwnParams(t *testing.T) {
	t.Parallel()
	type params struct {
		M map[string]int `json:"m"`
	}
	r := jobs.NewRegistry()
	jobs.Register(r, "f", func(_ context.Context, run jobs.Run, p params) error {
		run.Logger.Info("a run without a logger must not panic")
		if p.M["a"] != 1 {
			return errors.New("an earlier run changed the params")
		}
		p.M["a"] = 2
		return nil
	})
	h, err := r.Bind("f", map[string]any{"m": map[string]any{"a": 1}}, jobs.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := h(t.Context(), jobs.Run{}); err != nil {
			t.Error(err)
		}
	}
}

func TestFormatTick(t *testing.T) {
	t.Parallel()
	paris := time.FixedZone("", 3600)
	for in, want := range map[time.Time]string{
		time.Date(2026, 12, 1, 3, 0, 0, 0, paris):      "2026-12-01T02:00:00Z",
		time.Date(2026, 12, 1, 3, 0, 0, 5e8, time.UTC): "2026-12-01T03:00:00.500Z",
	} {
		if got := jobs.FormatTick(in); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
