package cmd

import (
	"runtime/debug"
	"testing"
)

func TestCommitOfABuild(t *testing.T) {
	t.Parallel()
	built := &debug.BuildInfo{Settings: []debug.BuildSetting{
		{Key: "GOOS", Value: "linux"},
		{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"},
		{Key: "vcs.time", Value: "2026-11-24T12:00:00Z"},
	}}
	for want, info := range map[string]*debug.BuildInfo{
		" commit 0123456789ab 2026-11-24T12:00:00Z": built,
		"": {Settings: built.Settings[:1]}, // go install module@version
	} {
		if got := commitOf(info); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
