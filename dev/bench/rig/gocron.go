package rig

import (
	"context"
	"errors"

	"github.com/go-co-op/gocron/v2"
	"github.com/go-redsync/redsync/v4"
)

// GocronLocker is gocron's published Redis locker, as its README has it used,
// but over all servers: that one takes a single client and hands it to redsync
// as the only pool.
type GocronLocker struct{ Redsync *Redsync }

var errNotObtained = errors.New("gocron: failed to obtain lock")

// Lock implements gocron.Locker with redsync.WithTries(1), the README's advice.
func (l GocronLocker) Lock(ctx context.Context, key string) (gocron.Lock, error) {
	m := l.Redsync.NewMutex(key, redsync.WithTries(1))
	if err := m.LockContext(ctx); err != nil {
		return nil, errNotObtained
	}
	return gocronLock{m}, nil
}

type gocronLock struct{ mutex *redsync.Mutex }

// Unlock implements gocron.Lock.
func (l gocronLock) Unlock(ctx context.Context) error {
	_, err := l.mutex.UnlockContext(ctx)
	return err
}
