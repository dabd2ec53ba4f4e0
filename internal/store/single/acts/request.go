package acts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/scheduler/acts"
)

// Do implements [acts.Store].
func (s *Store) Do(ctx context.Context, act acts.Act) (acts.Act, error) {
	act, err := act.Ready()
	if err != nil {
		return acts.Act{}, err
	}
	made := act
	err = s.change(ctx, fmt.Sprintf("asking for a %s of %s", act.Kind, act.Target()), func() (t *kv.Txn, err error) {
		made, t, err = s.place(ctx, act)
		return t, err
	})
	if errors.Is(err, kv.ErrFull) {
		err = acts.TooMany(act.Kind, act.Kind.Most(s.most))
	}
	if err != nil {
		return acts.Act{}, err
	}
	s.maySweep(ctx)
	return made, nil
}

// place returns the act with its instant, and what makes it; or the known act with its ID.
func (s *Store) place(ctx context.Context, act acts.Act) (acts.Act, *kv.Txn, error) {
	id, line, inForce := key("act", act.ID), lineKey(act), "pause"
	keys := []kv.Key{id, line}
	if act.Kind.Request() {
		keys, inForce = append(keys, key("open", act.ID)), "open"
	}
	some := kv.Of(kv.Acts, inForce)
	some.Limit = openMost
	lists, stamp, err := s.store.List(ctx, kv.Only(id), kv.Only(line), some, kv.Of(kv.Acts, "places"))
	if err != nil {
		return act, nil, err
	}
	if len(lists[0]) > 0 {
		known, err := acts.Decode(lists[0][0].Value)
		if err != nil || known.Fingerprint() != act.Fingerprint() {
			return known, nil, &acts.ReusedIDError{ID: act.ID}
		}
		return known, nil, nil
	}
	others, err := s.checkLimit(act, lists[2], stamp.At())
	if err != nil {
		return act, nil, err
	}
	t := &kv.Txn{Life: stamp.Life, If: []kv.Compare{{Key: id}, {Key: line}}}
	act.At = stamp.At().Truncate(time.Millisecond).UTC()
	for _, latest := range lists[1] { // at most one: the latest of the line
		t.If[1].Version = latest.Version
	}
	for _, last := range s.decode(lists[1]) {
		if !last.Last().Before(act.At) {
			act.At = last.Last().Add(time.Millisecond)
		}
	}
	if act.Kind.Request() {
		if err := s.takePlace(t, act, lists[3], others); err != nil {
			return act, nil, err
		}
	}
	return act, t, put(t, act, append(keys, logKey("audit", act))...)
}

// checkLimit returns the acts in force that count beside this one, and the error for one too many.
func (s *Store) checkLimit(act acts.Act, inForce []kv.Record, now time.Time) ([]acts.Act, error) {
	most := act.Kind.Most(s.most)
	if act.Kind == acts.Pause {
		most = s.pauses
	}
	if act.Kind == acts.Resume {
		return nil, nil
	}
	all := slices.DeleteFunc(s.decode(inForce), func(a acts.Act) bool {
		return a.Kind == acts.Resume || a.Kind == acts.Pause && a.Line() == act.Line() || a.Kind.Request() && !a.Expires().After(now)
	})
	if len(all) >= most {
		return all, acts.TooMany(act.Kind, most)
	}
	return all, nil
}

// placeRecords is how many records share the places of open requests: requests at the same time
// seldom change the same one.
const placeRecords = 16

// takePlace makes t take a place for a request, so requests at the same time share the bound. A record
// lists the requests that have its places; those that are open no longer have none.
func (s *Store) takePlace(t *kv.Txn, act acts.Act, places []kv.Record, open []acts.Act) error {
	isOpen := map[string]bool{}
	for _, a := range open {
		isOpen[a.ID] = true
	}
	most, n := act.Kind.Most(s.most), min(placeRecords, s.most)
	for _, i := range rand.Perm(n) {
		taken := kv.Compare{Key: key("places", strconv.Itoa(i))}
		var ids []string
		for _, r := range places {
			if r.Key == taken.Key {
				taken.Version = r.Version
				_ = json.Unmarshal(r.Value, &ids) // one that is no list is written anew
			}
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return !isOpen[id] })
		if len(ids) >= most*(i+1)/n-most*i/n {
			continue
		}
		text, err := json.Marshal(append(ids, act.ID))
		t.If, t.Put = append(t.If, taken), append(t.Put, kv.Write{Key: taken.Key, Value: text})
		return err
	}
	return acts.TooMany(act.Kind, most)
}

// Close implements [acts.Store].
func (s *Store) Close(ctx context.Context, id, result string) error {
	open := key("open", id)
	return s.change(ctx, "closing request "+id, func() (*kv.Txn, error) {
		list, stamp, err := s.store.Read(ctx, open)
		if err != nil || list[0].Version == 0 {
			return nil, err
		}
		act, err := acts.Decode(list[0].Value)
		if err != nil {
			return nil, err
		}
		act = act.Done(result, stamp.At())
		t := &kv.Txn{Life: stamp.Life, If: []kv.Compare{{Key: open, Version: list[0].Version}}, Delete: []kv.Key{open}}
		return t, put(t, act, key("act", id), logKey("audit", act))
	})
}

// Note implements [acts.Notebook].
func (s *Store) Note(ctx context.Context, act acts.Act) error {
	log := "audit"
	if act.Refused() { // a log of its own, so refusals do not push acts out of the audit log
		log = "refused"
	}
	var note acts.Act
	err := s.change(ctx, "noting a "+string(act.Kind), func() (*kv.Txn, error) {
		_, stamp, err := s.store.Read(ctx, key("act", ""))
		if err != nil {
			return nil, err
		}
		if note.ID == "" { // else it may be there already
			note = act.Noted(stamp.At())
		}
		t := &kv.Txn{Life: stamp.Life}
		return t, put(t, note, logKey(log, note))
	})
	if err == nil {
		s.maySweep(ctx)
	}
	return err
}

// sweepMost bounds the old records of a name that a sweep deletes: a transaction holds them.
func (s *Store) sweepMost() int { return s.store.Limits().Keys / 8 }

// maySweep sweeps so often that more is deleted than added. What a sweep leaves, or fails to
// delete, the next one finds.
func (s *Store) maySweep(ctx context.Context) {
	if rand.N(min(64, s.sweepMost()/2)) == 0 {
		_ = s.sweep(ctx)
	}
}

// sweep deletes acts that are older than a day and not among the latest in their log, and
// unused keys of older ones. Refused acts need not be old.
func (s *Store) sweep(ctx context.Context) error {
	_, stamp, err := s.store.Read(ctx, key("act", ""))
	if err != nil {
		return err
	}
	old := stamp.At().Add(-keep)
	audit, refused := kv.Between(kv.Acts, "audit", records.EntryOrder(old.UnixMilli()), ""), kv.Of(kv.Acts, "refused")
	audit.Limit, refused.Limit = s.keep+s.sweepMost(), s.refused+s.sweepMost()
	lists, stamp, err := s.store.List(ctx, audit, refused,
		kv.Of(kv.Acts, "open"), kv.Of(kv.Acts, "line"), kv.Of(kv.Acts, "pause"))
	if err != nil {
		return err
	}
	t := kv.Txn{Life: stamp.Life}
	isOpen := map[string]bool{} // by ID, as in keys
	for _, r := range lists[2] {
		isOpen[r.Key.Sub] = true
	}
	for _, r := range slices.Concat(lists[0][min(s.keep, len(lists[0])):], lists[1][min(s.refused, len(lists[1])):]) {
		t.Delete = append(t.Delete, r.Key)
		if id := idOf(r.Key); !isOpen[id.Sub] {
			t.Delete = append(t.Delete, id)
		}
	}
	for _, list := range lists[2:] {
		list = slices.DeleteFunc(list, func(r kv.Record) bool {
			act, err := acts.Decode(r.Value)
			inUse := act.Kind == acts.Pause || act.Last().After(old) || r.Key.Name == "open" && act.Expires().After(old)
			return err != nil || inUse
		})
		for _, r := range list[:min(len(list), s.sweepMost()/2)] {
			t.If = append(t.If, kv.Compare{Key: r.Key, Version: r.Version}) // it may be in use again
			t.Delete = append(t.Delete, r.Key)
			if r.Key.Name == "open" {
				t.Delete = append(t.Delete, kv.Key{Kind: kv.Acts, Name: "act", Sub: r.Key.Sub})
			}
		}
	}
	_, err = s.store.Commit(ctx, t)
	return err
}
