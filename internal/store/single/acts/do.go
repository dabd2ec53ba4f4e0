package acts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
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
