package kvtest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// competitors is how many goroutines contend for a record.
const competitors = 8

// compete calls f in many goroutines, until it returns false or an error.
func (b *bench) compete(f func(who int) (more bool, err error)) {
	b.Helper()
	errs := make([]error, competitors)
	var running sync.WaitGroup
	for who := range competitors {
		running.Go(func() {
			for more := true; more && errs[who] == nil; {
				more, errs[who] = f(who)
			}
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			b.Fatal(err)
		}
	}
}

// countsExactly lets competitors increment one number: no increment is lost.
func countsExactly(b *bench) {
	x := key("x", "")
	won := make([]int, competitors)
	b.compete(func(who int) (bool, error) {
		list, s, err := b.store.Read(b.Context(), x)
		if err != nil {
			return false, err
		}
		n, _ := strconv.Atoi(string(list[0].Value)) // 0 at first
		if n >= b.backend.Rounds {
			return false, nil
		}
		o, err := b.store.Commit(b.Context(), kv.Txn{
			Incarnation: s.Incarnation, If: []kv.Compare{{Key: x, Version: list[0].Version}}, Put: []kv.Write{put(x, strconv.Itoa(n+1))},
		})
		if o.Won {
			won[who]++
		}
		return true, err
	})
	total := 0
	for _, n := range won {
		total += n
	}
	if total != b.backend.Rounds {
		b.Errorf("%d transactions won, and the number is %d", total, b.backend.Rounds)
	}
}

// comparedIsLocked lets two competitors each write a record if the other's has not changed, or in every other
// round, if it does not exist. Both would win if a record that is only compared could change meanwhile.
func comparedIsLocked(b *bench) {
	for round := range max(20, b.backend.Rounds/10) {
		mine := []kv.Key{key("left", strconv.Itoa(round)), key("right", strconv.Itoa(round))}
		_, incarnation := b.read(mine[0])
		var versions [2]uint64
		if round%2 == 1 {
			versions = [2]uint64{b.write(mine[0], `0`), b.write(mine[1], `0`)}
		}
		var won [2]bool
		var errs [2]error
		var running sync.WaitGroup
		for who := range 2 {
			running.Go(func() {
				o, err := b.store.Commit(b.Context(), kv.Txn{
					Incarnation: incarnation, If: []kv.Compare{{Key: mine[1-who], Version: versions[1-who]}}, Put: []kv.Write{put(mine[who], `1`)},
				})
				won[who], errs[who] = o.Won, err
			})
		}
		running.Wait()
		if errs[0] != nil || errs[1] != nil {
			b.Fatal(errs)
		}
		if won[0] == won[1] {
			b.Fatalf("round %d: of two that exclude each other won: %v", round, won)
		}
	}
}

// listsOneMoment lets competitors move a number from one record to another, so that their
// sum stays, while others list them.
func listsOneMoment(b *bench) {
	x, y := key("x", ""), key("y", "")
	b.commit(true, kv.Txn{Put: []kv.Write{put(x, strconv.Itoa(b.backend.Rounds)), put(y, `0`)}})
	b.compete(func(who int) (bool, error) {
		lists, s, err := b.store.List(b.Context(), kv.Of(kv.Claims, "x"), kv.Of(kv.Claims, "y"))
		if err != nil {
			return false, err
		}
		from, to := lists[0][0], lists[1][0]
		have, _ := strconv.Atoi(string(from.Value))
		there, _ := strconv.Atoi(string(to.Value))
		if have+there != b.backend.Rounds {
			return false, fmt.Errorf("listed %d and %d, which never were at one moment", have, there)
		}
		if have == 0 || who%2 == 0 {
			return have > 0, nil
		}
		_, err = b.store.Commit(b.Context(), kv.Txn{
			Incarnation: s.Incarnation, If: []kv.Compare{{Key: x, Version: from.Version}, {Key: y, Version: to.Version}},
			Put: []kv.Write{put(x, strconv.Itoa(have-1)), put(y, strconv.Itoa(there+1))},
		})
		return true, err
	})
}

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

// read returns the record with the key, and the incarnation.
func (b *bench) read(k kv.Key) (kv.Record, string) {
	b.Helper()
	list, s, err := b.store.Read(b.Context(), k)
	if err != nil || len(list) != 1 || list[0].Key != k {
		b.Fatalf("Read(%v) = %v, %v", k, list, err)
	}
	return list[0], s.Incarnation
}

// commit commits t in the present incarnation, and wants it to win or to lose.
func (b *bench) commit(wantWon bool, t kv.Txn) kv.Outcome {
	b.Helper()
	if t.Incarnation == "" {
		_, t.Incarnation = b.read(key("life", ""))
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
