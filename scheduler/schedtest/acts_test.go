package schedtest

import (
	"testing"
	"testing/synctest"

	"github.com/quorate/quorate/scheduler"
)

func TestMemoryActsConform(t *testing.T) {
	t.Parallel()
	RunActs(t, ActsBackend{
		Hooks: Hooks{Bubble: synctest.Test},
		New:   func(testing.TB) scheduler.Acts { return &Acts{} },
	})
}
