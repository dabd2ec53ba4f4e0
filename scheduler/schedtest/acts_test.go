package schedtest

import (
	"testing"
	"testing/synctest"

	"github.com/quorate/quorate/scheduler/acts"
)

func TestMemoryActsConform(t *testing.T) {
	t.Parallel()
	RunActs(t, ActsBackend{
		Hooks: Hooks{Bubble: synctest.Test},
		New:   func(testing.TB) acts.Store { return &Acts{} },
	})
}
