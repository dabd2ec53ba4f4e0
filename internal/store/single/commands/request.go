package commands

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
	"github.com/quorate/quorate/scheduler/commands"
)

// Do implements [commands.Store].
func (s *Store) Do(ctx context.Context, command commands.Command) (commands.Command, error) {
	command, err := command.Ready()
	if err != nil {
		return commands.Command{}, err
	}
	made := command
	err = s.change(ctx, fmt.Sprintf("asking for a %s of %s", command.Kind, command.Target()), func() (t *kv.Txn, err error) {
		made, t, err = s.place(ctx, command)
		return t, err
	})
	if errors.Is(err, kv.ErrFull) {
		err = commands.TooMany(command.Kind, command.Kind.Most(s.most))
	}
	if err != nil {
		return commands.Command{}, err
	}
	s.maySweep(ctx)
	return made, nil
}

// place returns the command with its instant, and what makes it; or the known command with its ID.
func (s *Store) place(ctx context.Context, command commands.Command) (commands.Command, *kv.Txn, error) {
	id, series, inForce := key("act", command.ID), seriesKey(command), "pause"
	keys := []kv.Key{id, series}
	if command.Kind.Request() {
		keys, inForce = append(keys, key("open", command.ID)), "open"
	}
	some := kv.Of(kv.Commands, inForce)
	some.Limit = openMost
	lists, stamp, err := s.store.List(ctx, kv.Only(id), kv.Only(series), some, kv.Of(kv.Commands, "places"))
	if err != nil {
		return command, nil, err
	}
	if len(lists[0]) > 0 {
		known, err := commands.Decode(lists[0][0].Value)
		if err != nil || known.Fingerprint() != command.Fingerprint() {
			return known, nil, &commands.ReusedIDError{ID: command.ID}
		}
		return known, nil, nil
	}
	others, err := s.checkLimit(command, lists[2], stamp.At())
	if err != nil {
		return command, nil, err
	}
	t := &kv.Txn{Incarnation: stamp.Incarnation, If: []kv.Compare{{Key: id}, {Key: series}}}
	command.At = stamp.At().Truncate(time.Millisecond).UTC()
	for _, latest := range lists[1] { // at most one: the latest of the series
		t.If[1].Version = latest.Version
	}
	latest, _ := s.decode(lists[1])
	for _, last := range latest {
		if !last.Last().Before(command.At) {
			command.At = last.Last().Add(time.Millisecond)
		}
	}
	if command, err = command.Made(command.At); err != nil {
		return command, nil, err
	}
	if command.Kind.Request() {
		if err := s.takePlace(t, command, lists[3], others); err != nil {
			return command, nil, err
		}
	}
	return command, t, put(t, command, append(keys, logKey("audit", command))...)
}

// checkLimit returns the commands in force that count beside this one, and the error for one too many.
func (s *Store) checkLimit(command commands.Command, inForce []kv.Record, now time.Time) ([]commands.Command, error) {
	most := command.Kind.Most(s.most)
	if command.Kind == commands.Pause {
		most = s.pauses
	}
	if command.Kind == commands.Resume {
		return nil, nil
	}
	all, _ := s.decode(inForce)
	all = slices.DeleteFunc(all, func(a commands.Command) bool {
		return a.Kind == commands.Resume || a.Kind == commands.Pause && (a.Series() == command.Series() || hasEnded(a, now)) || a.Kind.Request() && !a.Expires().After(now)
	})
	if len(all) >= most {
		return all, commands.TooMany(command.Kind, most)
	}
	return all, nil
}

func hasEnded(pause commands.Command, now time.Time) bool {
	ends := pause.Ends()
	return !ends.IsZero() && !now.Before(ends)
}

// placeRecords is how many records share the places of open requests: requests at the same time
// seldom change the same one.
const placeRecords = 16

// takePlace makes t take a place for a request, so requests at the same time share the bound. A record
// lists the requests that have its places; those that are open no longer have none.
func (s *Store) takePlace(t *kv.Txn, command commands.Command, places []kv.Record, open []commands.Command) error {
	isOpen := map[string]bool{}
	for _, a := range open {
		isOpen[a.ID] = true
	}
	most, n := command.Kind.Most(s.most), min(placeRecords, s.most)
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
		text, err := json.Marshal(append(ids, command.ID))
		t.If, t.Put = append(t.If, taken), append(t.Put, kv.Write{Key: taken.Key, Value: text})
		return err
	}
	return commands.TooMany(command.Kind, most)
}

// Close implements [commands.Store].
func (s *Store) Close(ctx context.Context, id, result string) error {
	open := key("open", id)
	return s.change(ctx, "closing request "+id, func() (*kv.Txn, error) {
		list, stamp, err := s.store.Read(ctx, open)
		if err != nil || list[0].Version == 0 {
			return nil, err
		}
		command, err := commands.Decode(list[0].Value)
		if err != nil {
			return nil, err
		}
		command = command.Done(result, stamp.At())
		t := &kv.Txn{Incarnation: stamp.Incarnation, If: []kv.Compare{{Key: open, Version: list[0].Version}}, Delete: []kv.Key{open}}
		return t, put(t, command, key("act", id), logKey("audit", command))
	})
}

// Note implements [commands.Notebook].
func (s *Store) Note(ctx context.Context, command commands.Command) error {
	log := "audit"
	if command.Refused() { // a log of its own, so refusals do not push commands out of the audit log
		log = "refused"
	}
	var note commands.Command
	err := s.change(ctx, "noting a "+string(command.Kind), func() (*kv.Txn, error) {
		_, stamp, err := s.store.Read(ctx, key("act", ""))
		if err != nil {
			return nil, err
		}
		if note.ID == "" { // else it may be there already
			note = command.Noted(stamp.At())
		}
		t := &kv.Txn{Incarnation: stamp.Incarnation}
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

// sweep deletes commands that are older than a day and not among the latest in their log, and
// unused keys of older ones. Refused commands need not be old.
func (s *Store) sweep(ctx context.Context) error {
	_, stamp, err := s.store.Read(ctx, key("act", ""))
	if err != nil {
		return err
	}
	old := stamp.At().Add(-keep)
	audit, refused := kv.Between(kv.Commands, "audit", records.EntryOrder(old.UnixMilli()), ""), kv.Of(kv.Commands, "refused")
	audit.Limit, refused.Limit = s.keep+s.sweepMost(), s.refused+s.sweepMost()
	lists, stamp, err := s.store.List(ctx, audit, refused,
		kv.Of(kv.Commands, "open"), kv.Of(kv.Commands, "line"), kv.Of(kv.Commands, "pause"))
	if err != nil {
		return err
	}
	t := kv.Txn{Incarnation: stamp.Incarnation}
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
			command, err := commands.Decode(r.Value)
			inUse := command.Kind == commands.Pause && !hasEnded(command, old) || command.Last().After(old) || r.Key.Name == "open" && command.Expires().After(old)
			return err != nil || inUse
		})
		for _, r := range list[:min(len(list), s.sweepMost()/2)] {
			t.If = append(t.If, kv.Compare{Key: r.Key, Version: r.Version}) // it may be in use again
			t.Delete = append(t.Delete, r.Key)
			if r.Key.Name == "open" {
				t.Delete = append(t.Delete, kv.Key{Kind: kv.Commands, Name: "act", Sub: r.Key.Sub})
			}
		}
	}
	_, err = s.store.Commit(ctx, t)
	return err
}
