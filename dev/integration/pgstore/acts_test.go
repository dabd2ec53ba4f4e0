package pgstore_test

import (
	"testing"

	singleacts "github.com/quorate/quorate/internal/store/single/acts"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// actsConform runs the kit of acts with the role of a replica.
func actsConform(t *testing.T, w *world) { actsConformAt(t, w, w.urlAs("replica")) }

func actsConformAt(t *testing.T, w *world, url string) {
	t.Helper()
	schedtest.RunActs(t, schedtest.ActsBackend{
		New: func(t testing.TB) acts.Store { return singleacts.New(w.open(t, url)) },
	})
}
