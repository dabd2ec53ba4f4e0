package scheduler

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

type nothing struct{}

func (nothing) TryAcquire(context.Context, locking.Request) (locking.Lease, error) {
	return nil, &locking.AcquireError{Reason: locking.ErrNoQuorum}
}
func (nothing) Record(context.Context, ledger.Entry) (bool, error)          { return true, nil }
func (nothing) Runs(context.Context, ledger.Query) ([]ledger.Entry, error)  { return nil, nil }
func (nothing) Ticks(context.Context, ledger.Query) ([]ledger.Entry, error) { return nil, nil }

func validConfig() Config {
	return Config{Replica: "r1", Stores: Stores{Locker: nothing{}, Ledger: nothing{}}}.WithDefaults()
}

func TestConfigMistakes(t *testing.T) {
	t.Parallel()
	if err := validConfig().Validate(); err != nil {
		t.Fatalf("the defaults are refused: %v", err)
	}
	tests := []struct {
		names  string // the error must contain it
		mutate func(*Config)
	}{
		{"Replica", func(c *Config) { c.Replica = "" }},
		{"Locker", func(c *Config) { c.Locker = nil }},
		{"Ledger", func(c *Config) { c.Ledger = nil }},
		{"TTL", func(c *Config) { c.TTL = -1 }},
		{"ExtendEvery", func(c *Config) { c.ExtendEvery = c.TTL }},
		{"MaxHold", func(c *Config) { c.MaxHold = c.TTL - 1 }},
		{"MaxHold", func(c *Config) { c.MaxHold = -1 }},
		{"SafetyMargin", func(c *Config) { c.SafetyMargin = c.TTL - c.ExtendEvery }},
		{"Window", func(c *Config) { c.Window = -1 }},
		{"DrainTimeout", func(c *Config) { c.DrainTimeout = -1 }},
		{"StopTimeout", func(c *Config) { c.StopTimeout = -1 }},
		{"BeatEvery", func(c *Config) { c.BeatEvery = -1 }},
		{"RecordQueue", func(c *Config) { c.RecordQueue = -1 }},
	}
	for _, tt := range tests {
		c := validConfig()
		tt.mutate(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), tt.names) {
			t.Errorf("bad %s: got %v", tt.names, err)
		}
		if _, err := New(c, nil); err == nil {
			t.Errorf("bad %s: New accepts it", tt.names)
		}
	}
}

func TestWithDefaultsKeepsWhatIsSet(t *testing.T) {
	t.Parallel()
	c := Config{TTL: 3 * time.Second, Stagger: -1}.WithDefaults()
	if c.ExtendEvery != time.Second || c.SafetyMargin != 300*time.Millisecond || c.Window != 6*time.Second || c.Stagger != -1 {
		t.Errorf("got every %v, margin %v, window %v, stagger %v", c.ExtendEvery, c.SafetyMargin, c.Window, c.Stagger)
	}
}

func TestJobMistakes(t *testing.T) {
	t.Parallel()
	run := func(context.Context, jobs.Run) error { return nil }
	valid := jobs.Job{Name: "j", Schedule: daily{}, Handler: run}
	tests := []struct {
		says string
		jobs []jobs.Job
	}{
		{"no name", []jobs.Job{{Schedule: daily{}, Handler: run}}},
		{"listed twice", []jobs.Job{valid, valid}},
		{"no schedule", []jobs.Job{{Name: "j", Handler: run}}},
		{"no handler", []jobs.Job{{Name: "j", Schedule: daily{}}}},
		{"must not be negative", []jobs.Job{{Name: "j", Schedule: daily{}, Handler: run, Timeout: -1}}},
	}
	for _, tt := range tests {
		if _, err := New(validConfig(), tt.jobs); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("want %q, got %v", tt.says, err)
		}
	}
	if _, err := New(validConfig(), []jobs.Job{valid}); err != nil {
		t.Errorf("a valid job is refused: %v", err)
	}
}

func TestRandomDelayUsesItsWholeRange(t *testing.T) {
	t.Parallel()
	const limit = 20 * time.Millisecond
	var low, high int
	for range 200 {
		switch d := randomDelay("job", time.Time{}, limit); {
		case d < 0 || d >= limit:
			t.Fatalf("%v is not in [0, %v)", d, limit)
		case d < limit/2:
			low++
		default:
			high++
		}
	}
	if low == 0 || high == 0 {
		t.Errorf("%d delays in the lower half, %d in the upper", low, high)
	}
}
