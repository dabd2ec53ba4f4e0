package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/storetest"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// newWorld is a directory with a file for each namespace.
func newWorld(tb testing.TB) *storetest.World {
	tb.Helper()
	dir := tb.TempDir()
	return &storetest.World{
		Open: func(tb testing.TB, namespace string) kv.Store {
			tb.Helper()
			return newStore(tb, filepath.Join(dir, namespace+".db"), namespace)
		},
		NextIncarnation: func(tb testing.TB, s kv.Store) { tb.Helper(); replaceByCopy(tb, s.(*server).dialect.path) },
		Clock:           true,
	}
}

// timeout is that of the stores of tests.
const timeout = 5 * time.Second

// newStore returns a store until the test ends.
func newStore(tb testing.TB, path, namespace string) *server {
	tb.Helper()
	s := newServer(path, namespace, timeout)
	tb.Cleanup(s.Close)
	return s
}

func TestKits(t *testing.T) {
	t.Parallel()
	newWorld(t).Run(t)
}
