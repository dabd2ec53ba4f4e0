package schedtest

import (
	"testing"
	"testing/synctest"

	"github.com/quorate/quorate/scheduler/commands"
)

func TestMemoryCommandsConform(t *testing.T) {
	t.Parallel()
	RunCommands(t, CommandsBackend{
		Hooks: Hooks{Bubble: synctest.Test},
		New:   func(testing.TB) commands.Store { return &Commands{} },
	})
}
