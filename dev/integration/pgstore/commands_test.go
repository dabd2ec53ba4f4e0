package pgstore_test

import (
	"testing"

	singlecommands "github.com/quorate/quorate/internal/store/single/commands"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// commandsConform runs the kit of commands with the role of a replica.
func commandsConform(t *testing.T, w *world) { commandsConformAt(t, w, w.urlAs("replica")) }

func commandsConformAt(t *testing.T, w *world, url string) {
	t.Helper()
	schedtest.RunCommands(t, schedtest.CommandsBackend{
		New: func(t testing.TB) commands.Store { return singlecommands.New(w.open(t, url)) },
	})
}
