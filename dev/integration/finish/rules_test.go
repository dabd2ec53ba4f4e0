package finish_test

import (
	"context"
	"testing"

	"github.com/quorate/quorate/dev/testkit/finishtest"
)

// TestRules holds Finish to the rules, at all isolation levels and with all drivers.
func TestRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kinds := map[string]func(*testing.T) finishtest.Place{}
	for level := range levels() {
		for with, driver := range drivers() {
			kinds[level+"/"+with] = func(t *testing.T) finishtest.Place { t.Helper(); return w.rig(t).place(driver, level) }
		}
	}
	finishtest.Rules(t, kinds)
}

// TestEngine shows what the engine makes of transactions that end runs.
func TestEngine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cases := finishtest.EngineCases()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finishtest.RunEngine(t, w.rig(t).place(inPgx, readCommitted), c)
		})
	}
	bouncer := w.Bouncer(t)
	t.Run("pgbouncer", func(t *testing.T) {
		t.Parallel()
		r := w.rig(t)
		p := r.place(inPgx, readCommitted)
		p.Connect = func(string) func(context.Context) (finishtest.Tx, error) {
			return inPgx(r, bouncer+"&default_query_exec_mode=exec", readCommitted)
		}
		finishtest.RunEngine(t, p, cases["error after it"])
	})
}
