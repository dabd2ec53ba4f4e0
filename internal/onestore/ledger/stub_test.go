package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/onestore/records"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/locking"
)

// A stub is a Locker that writes what claims write, for one process.
type stub struct {
	mu    sync.Mutex
	store store.Store
}

func (b *stub) read(ctx context.Context, job string, c records.Claim) (claims records.Claims, lease records.Lease, s store.Stamp, err error) {
	list, s, err := b.store.Read(ctx, records.ClaimsKey(job), records.LeaseKey(job, c))
	if err != nil {
		return claims, lease, s, err
	}
	if claims, err = records.Decode[records.Claims](list[0]); err == nil {
		lease, err = records.Decode[records.Lease](list[1])
	}
	return claims, lease, s, err
}

func (b *stub) commit(ctx context.Context, s store.Stamp, t store.Txn) error {
	t.Life = s.Life
	o, err := b.store.Commit(ctx, t)
	if err == nil && !o.Won {
		err = locking.ErrSplit
	}
	return err
}

func (b *stub) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := records.Claim{
		Stream: cmp.Or(req.Stream, locking.StreamSchedule), Tick: req.Tick.UnixMilli(), Owner: rand.Text(), Attempt: 1,
		Rerun: req.Mode == locking.AtLeastOnce, Overlaps: req.Beside, Holder: req.Holder,
	}
	claims, lease, s, err := b.read(ctx, req.Name, c)
	if err != nil {
		return nil, err
	}
	last := claims.Streams[c.Stream]
	if lease.Of(claims, s.Now).Open() {
		return nil, locking.ErrTaken
	}
	switch {
	case last.Tick > c.Tick:
		return nil, locking.ErrSuperseded
	case last.Tick == c.Tick:
		if last.Ended != "" && !last.Handed || !last.Void && !c.Rerun {
			return nil, locking.ErrDone
		}
		c.Attempt = last.Attempt + 1
	case last.Overlaps && last.Open():
		claims.Earlier = append(claims.Earlier, last)
	}
	claims.Fence++
	c.Token = claims.Fence
	claims.Open = c.Owner
	if claims.Streams == nil {
		claims.Streams = map[string]records.Claim{}
	}
	claims.Streams[c.Stream] = c
	e := records.Entry{
		Kind: records.Started, Stream: c.Stream, Tick: c.Tick, Token: c.Token, Attempt: c.Attempt, Owner: c.Owner,
		Holder: c.Holder, Note: records.Note(req.Note),
	}
	held := records.Lease{Owner: c.Owner, Token: c.Token, Until: s.Now.Add(req.TTL).UnixMilli()}
	err = b.commit(ctx, s, store.Txn{Put: []store.Write{
		records.Put(records.ClaimsKey(req.Name), claims), records.Put(records.LeaseKey(req.Name, c), held),
		records.Put(records.EntryKey(req.Name, e), e),
	}})
	return &stubLease{b, req, c, e}, err
}

type stubLease struct {
	*stub
	req   locking.Request
	claim records.Claim
	entry records.Entry
}

func (l *stubLease) Deadline() time.Time { return time.Time{} }

func (l *stubLease) Claim() locking.Claim {
	return locking.Claim{
		Name: l.req.Name, Tick: l.req.Tick, Stream: l.req.Stream, Token: locking.Token(l.claim.Token), Attempt: l.claim.Attempt, Beside: l.req.Beside,
	}
}

func (l *stubLease) Extend(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, lease, s, err := l.read(ctx, l.req.Name, l.claim)
	if err != nil {
		return err
	}
	if lease.Owner != l.claim.Owner {
		return locking.ErrLeaseLost
	}
	lease.Until = s.Now.Add(l.req.TTL).UnixMilli()
	return l.commit(ctx, s, store.Txn{Put: []store.Write{records.Put(records.LeaseKey(l.req.Name, l.claim), lease)}})
}

func (l *stubLease) Release(ctx context.Context, note []byte) error { return l.end(ctx, note, false) }

func (l *stubLease) HandOver(ctx context.Context, note []byte) error { return l.end(ctx, note, true) }

func (l *stubLease) end(ctx context.Context, note []byte, handed bool) error {
	return l.change(ctx, func(c *records.Claim, held bool) (kind records.Kind, err error) {
		switch {
		case c == nil:
			return records.Late, locking.ErrLeaseLost
		case !held:
			kind, err = records.RanOut, locking.ErrExpired
		default:
			kind = records.Finished
		}
		c.Ended, c.Handed = "OK", handed
		l.entry.Note = records.Note(note)
		return kind, err
	}, note)
}

func (l *stubLease) Void(ctx context.Context) error {
	return l.change(ctx, func(c *records.Claim, _ bool) (records.Kind, error) {
		if c != nil {
			c.Void = true
		}
		return "", nil
	}, nil)
}

// change changes the claim, nil if it is not there any more, and the entry: "" deletes it.
func (l *stubLease) change(ctx context.Context, do func(c *records.Claim, held bool) (records.Kind, error), note []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	claims, lease, s, err := l.read(ctx, l.req.Name, l.claim)
	if err != nil {
		return err
	}
	var own *records.Claim
	latest := claims.Streams[l.claim.Stream]
	if latest.Owner == l.claim.Owner {
		own = &latest
	}
	for i := range claims.Earlier {
		if claims.Earlier[i].Owner == l.claim.Owner {
			own = &claims.Earlier[i]
		}
	}
	kind, ended := do(own, lease.Of(claims, s.Now).Owner == l.claim.Owner)
	claims.Streams[l.claim.Stream] = latest
	t := store.Txn{Put: []store.Write{records.Put(records.ClaimsKey(l.req.Name), claims)}}
	key := records.EntryKey(l.req.Name, l.entry)
	if kind == "" {
		t.Delete = []store.Key{key}
	} else {
		l.entry.Kind, l.entry.Note = kind, records.Note(note)
		t.Put = append(t.Put, records.Put(key, l.entry))
	}
	return errors.Join(l.commit(ctx, s, t), ended)
}
