package dashboard

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/scheduler/identity"
)

// usersEvery is the pause between two looks at the files with users.
const usersEvery = 2 * time.Second

// A userBook follows http.users_file, and the files with secrets that users refer to: removed users
// are refused within seconds. A file that is unreadable or invalid changes nothing.
type userBook struct {
	cfg    *config.Config
	set    func([]identity.User) error
	failed func(bool) // tells the metrics; may be nil
	log    *slog.Logger

	sum   string                    // of what was read last
	since atomic.Pointer[time.Time] // the file cannot be used; nil: it can
}

// open reads the users for the first time.
func (b *userBook) open() ([]identity.User, error) {
	b.sum = b.contents()
	return b.cfg.Users()
}

// contents is a hash of all users with their secrets, or why they cannot be read.
func (b *userBook) contents() string {
	users, err := b.cfg.Users()
	return config.TextSum(fmt.Append(nil, users, err))
}

// run follows the files until ctx ends.
func (b *userBook) run(ctx context.Context) {
	ticker := time.NewTicker(usersEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if config.Changed(ctx, b.sum, b.contents) {
				b.read()
			}
		}
	}
}

// read takes the users in, once for each change.
func (b *userBook) read() {
	b.sum = b.contents()
	users, err := b.cfg.Users()
	if err == nil {
		err = b.set(users)
	}
	if b.failed != nil {
		b.failed(err != nil)
	}
	if err != nil {
		b.since.CompareAndSwap(nil, new(time.Now()))
		b.log.Error("the users have not changed; fix the file and it is read again", "why", err)
		return
	}
	b.since.Store(nil)
	b.log.Info("the users were read again", "users", len(users))
}

// warnings says that the file cannot be used, without what is in it.
func (b *userBook) warnings() []string {
	since := b.since.Load()
	if since == nil {
		return nil
	}
	return []string{fmt.Sprintf("The users of http.users and http.users_file cannot be read since %s, so those of before go on; the log says why.", since.UTC().Format("15:04 MST"))}
}
