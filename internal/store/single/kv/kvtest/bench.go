package kvtest

import (
	"encoding/json"
	"testing"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// A bench is one check at work on a store.
type bench struct {
	testing.TB
	backend Backend
	store   kv.Store
}

func newBench(t testing.TB, b Backend) *bench {
	if b.Rounds == 0 {
		b.Rounds = 500
	}
	return &bench{TB: t, backend: b, store: b.New(t)}
}

func key(name, sub string) kv.Key { return kv.Key{Kind: kv.Claims, Name: name, Sub: sub} }

func put(k kv.Key, value string) kv.Write {
	return kv.Write{Key: k, Value: json.RawMessage(value)}
}

// read returns the record with the key, and the life.
func (b *bench) read(k kv.Key) (kv.Record, string) {
	b.Helper()
	list, s, err := b.store.Read(b.Context(), k)
	if err != nil || len(list) != 1 || list[0].Key != k {
		b.Fatalf("Read(%v) = %v, %v", k, list, err)
	}
	return list[0], s.Life
}

// commit commits t in the present life, and wants it to win or to lose.
func (b *bench) commit(wantWon bool, t kv.Txn) kv.Outcome {
	b.Helper()
	if t.Life == "" {
		_, t.Life = b.read(key("life", ""))
	}
	o, err := b.store.Commit(b.Context(), t)
	if err != nil {
		b.Fatalf("Commit(%+v) = %v", t, err)
	}
	if o.Won != wantWon || o.Won && len(t.Put) > 0 != (o.Version > 0) {
		b.Fatalf("Commit(%+v) = %+v, want won: %t", t, o, wantWon)
	}
	return o
}

// write puts a record whatever is there, and returns its version.
func (b *bench) write(k kv.Key, value string) uint64 {
	b.Helper()
	return b.commit(true, kv.Txn{Put: []kv.Write{put(k, value)}}).Version
}

// wants checks what is stored under a key; "" is nothing.
func (b *bench) wants(k kv.Key, value string) {
	b.Helper()
	if r, _ := b.read(k); string(r.Value) != value || r.Version > 0 != (value != "") {
		b.Errorf("%v is version %d with %s, want %q", k, r.Version, r.Value, value)
	}
}
