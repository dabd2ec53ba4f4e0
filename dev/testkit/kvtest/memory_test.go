package kvtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/store/single/kv"
)

func TestMemoryConforms(t *testing.T) {
	t.Parallel()
	for _, clockless := range []bool{false, true} {
		kvtest.Run(t, kvtest.Backend{
			New: func(testing.TB) kv.Store { return &kvtest.Memory{Clockless: clockless} },
			NextIncarnation: func(_ testing.TB, s kv.Store) {
				m := s.(*kvtest.Memory)
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
	m := &kvtest.Memory{}
	m.Fault = func(_ context.Context, c kvtest.Call) error {
		if c.Method == "Commit" && c.Answered == answers {
			return cut
		}
		return nil
	}
	k := kv.Key{Kind: kv.Claims, Name: "x"}
	for _, answers = range []bool{false, true} {
		_, s, err := m.Read(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		o, err := m.Commit(t.Context(), kv.Txn{Incarnation: s.Incarnation, Put: []kv.Write{{Key: k, Value: json.RawMessage(`1`)}}})
		if o != (kv.Outcome{}) || !errors.Is(err, cut) || !errors.Is(err, kv.ErrUnavailable) {
			t.Errorf("Commit = %+v, %v", o, err)
		}
		if list, _, _ := m.Read(t.Context(), k); list[0].Version > 0 != answers {
			t.Errorf("answer lost: %t, and it was done: %+v", answers, list)
		}
	}
}
