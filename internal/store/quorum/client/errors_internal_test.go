package client

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
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

// A full pool is no sign of life either: it must not bring a node up.
func TestFullPoolSaysNothingOfTheNode(t *testing.T) {
	t.Parallel()
	l := &Link{}
	gone := errors.New("connection refused")
	l.Observe(t.Context(), gone)
	l.Observe(t.Context(), fmt.Errorf("calling: %w", redis.ErrPoolTimeout))
	if _, got := l.Health(); !errors.Is(got, gone) {
		t.Errorf("the node is down with %v, want %v", got, gone)
	}
}

// overdue is a context whose deadline has passed, but whose timer has not fired.
type overdue struct{ context.Context }

func (overdue) Deadline() (time.Time, bool) { return time.Now().Add(-time.Nanosecond), true }

func TestCallersDeadlineIsNotTheNodesFault(t *testing.T) {
	t.Parallel()
	l := &Link{}
	l.Observe(overdue{t.Context()}, errors.New("i/o timeout"))
	if _, got := l.Health(); got != nil {
		t.Errorf("the node is down: %v", got)
	}
}
