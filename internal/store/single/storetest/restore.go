package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// Restore restores a backup while replicas run. They notice it although the servers look the
// same, and so does everybody who comes later.
func (w *World) Restore(t *testing.T, backup func() (restore func())) {
	t.Helper()
	namespace, x := w.namespace(), kv.Key{Kind: kv.Claims, Name: "x"}
	s := w.Open(t, namespace)
	put := func(value string) {
		t.Helper()
		_, stamp, err := s.Read(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		o, err := s.Commit(t.Context(), kv.Txn{Life: stamp.Life, Put: []kv.Write{{Key: x, Value: []byte(value)}}})
		if err != nil || !o.Won {
			t.Fatalf("Commit = %+v, %v", o, err)
		}
	}
	put(`1`)
	restore := backup()
	put(`2`)
	put(`3`)
	_, old, err := s.Read(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	restore()
	late := kv.Txn{Life: old.Life, Put: []kv.Write{{Key: x, Value: []byte(`4`)}}}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if o, err := s.Commit(ctx, late); !kv.Unknown(err) {
		t.Errorf("a transaction of the life before = %+v, %v, want an unknown outcome", o, err)
	}
	for _, s := range []kv.Store{s, w.Open(t, namespace)} {
		_, now, err := s.Read(t.Context(), x)
		if err != nil || now.Life == old.Life {
			t.Errorf("the life is %q, as before, %v", now.Life, err)
		}
		if o, err := s.Commit(t.Context(), late); err != nil || o.Won {
			t.Errorf("a transaction of the life before = %+v, %v, want it to lose", o, err)
		}
	}
}
