package locktest

import (
	"testing"
	"testing/synctest"

	"github.com/quorate/quorate/locking"
)

func memoryBackend() Backend {
	return Backend{
		New: func(testing.TB) func(string) locking.Locker {
			m := new(Memory)
			return func(string) locking.Locker { return m }
		},
		Bubble: synctest.Test,
	}
}

func TestMemoryConforms(t *testing.T) {
	t.Parallel()
	Run(t, memoryBackend())
}
