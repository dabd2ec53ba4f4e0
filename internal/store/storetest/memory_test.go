package storetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/storetest"
)

func TestMemoryConforms(t *testing.T) {
	t.Parallel()
	for _, clockless := range []bool{false, true} {
		storetest.Run(t, storetest.Backend{
			New: func(testing.TB) store.Store { return &storetest.Memory{Clockless: clockless} },
			NextLife: func(_ testing.TB, s store.Store) {
				m := s.(*storetest.Memory)
				m.Restore(m.Backup())
			},
			Clockless: clockless,
		})
	}
}

// A fault loses the request or the answer; what was done is not undone.
func TestMemoryFaults(t *testing.T) {
	t.Parallel()
	cut := errors.New("cut off")
	var answers bool
	m := &storetest.Memory{}
	m.Fault = func(_ context.Context, c storetest.Call) error {
		if c.Method == "Commit" && c.Answered == answers {
			return cut
		}
		return nil
	}
	k := store.Key{Kind: store.Claims, Name: "x"}
	for _, answers = range []bool{false, true} {
		_, s, err := m.Read(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		o, err := m.Commit(t.Context(), store.Txn{Life: s.Life, Put: []store.Write{{Key: k, Value: json.RawMessage(`1`)}}})
		if o != (store.Outcome{}) || !errors.Is(err, cut) || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("Commit = %+v, %v", o, err)
		}
		if list, _, _ := m.Read(t.Context(), k); list[0].Version > 0 != answers {
			t.Errorf("answer lost: %t, and it was done: %+v", answers, list)
		}
	}
}
