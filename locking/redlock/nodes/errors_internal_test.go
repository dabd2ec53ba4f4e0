package nodes

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/locking"
)

func TestServerErrorsAreSorted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"LOADING Redis is loading the dataset in memory":                                               "LOADING",
		"OOM command not allowed when used memory > 'maxmemory'. script: abc, on @user_script:3.":      "OOM",
		"READONLY You can't write against a read only replica. script: abc":                            "READONLY",
		"NOAUTH HELLO must be called with the client already authenticated":                            "NOAUTH",
		"WRONGPASS invalid username-password pair or user is disabled.":                                "WRONGPASS",
		"NOPERM this user has no permissions to run the 'eval' command":                                "NOPERM",
		"ERR The user executing the script can't run this command or subcommand script: abc":           "NOPERM",
		"ERR Error running script (call to f_x): @user_script:1: -OOM command not allowed":             "OOM",
		"ERR user_script:1: Script attempted to access nonexistent global variable 'x' script: abcdef": "ERR",
	} {
		if got := serverError(text); got.Code != want || got.Text != text {
			t.Errorf("%q: code %s, want %s", text, got.Code, want)
		}
	}
}

func TestOnlySilenceCountsAsDown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{ErrBlank, false},
		{&RefusedError{Reason: "no"}, false},
		{fmt.Errorf("wrapped: %w", &ServerError{Code: "OOM"}), false},
		{errors.New("read tcp: connection reset by peer"), true},
	} {
		if got := silent(c.err); got != c.want {
			t.Errorf("%v: silent = %v", c.err, got)
		}
	}
}

func TestRefusedErrorMatchesTheContract(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("joining: %w", &RefusedError{Node: "a:1", Reason: "no"})
	if !errors.Is(err, locking.ErrRefused) || errors.Is(err, locking.ErrNoQuorum) {
		t.Errorf("%v does not match locking.ErrRefused alone", err)
	}
}

// A full pool is no sign of life either: it must not bring a node up.
func TestFullPoolSaysNothingOfTheNode(t *testing.T) {
	t.Parallel()
	n := &Node{set: &Set{wake: make(chan struct{}, 1)}}
	gone := errors.New("connection refused")
	n.observe(t.Context(), Reply{Err: gone})
	n.observe(t.Context(), Reply{Err: fmt.Errorf("calling: %w", redis.ErrPoolTimeout)})
	if got := n.health.get().cause; !errors.Is(got, gone) {
		t.Errorf("the node is down with %v, want %v", got, gone)
	}
}

// overdue is a context whose deadline has passed, but whose timer has not fired.
type overdue struct{ context.Context }

func (overdue) Deadline() (time.Time, bool) { return time.Now().Add(-time.Nanosecond), true }

func TestCallersDeadlineIsNotTheNodesFault(t *testing.T) {
	t.Parallel()
	n := &Node{set: &Set{wake: make(chan struct{}, 1)}}
	n.observe(overdue{t.Context()}, Reply{Err: errors.New("i/o timeout")})
	if got := n.health.get().cause; got != nil {
		t.Errorf("the node is down: %v", got)
	}
}
