package acts

import (
	"context"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/scheduler/acts"
)

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
