package integration_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/locking/fence/redisfence"
	"github.com/quorate/quorate/locking/fence/sqlfence"
	"github.com/quorate/quorate/locking/redlock"
)

// holderConfig is the variable that makes this binary a holder.
const holderConfig = "QUORATE_TEST_HOLDER"

const (
	leaseTTL       = time.Second
	holderPatience = 2 * time.Minute // of a holder with its servers
)

// A holderOrder says what a holder works with.
type holderOrder struct {
	Nodes           []string // that vote
	Postgres, Redis string   // the sinks
	Resource        string   // the name of the lock and of what is written
	Name            string
	Unguarded       bool
}

// An answer is what a holder says to a command.
type answer struct {
	Token           locking.Token
	Postgres, Redis string // what became of a write: wrote, refused, or an error
	Error           string
}

const (
	wrote   = "wrote"
	refused = "refused"
)

// A holder is a process that takes commands, one a line:
//
//	acquire      gets the lease and keeps it
//	write VALUE  writes to both sinks, whatever has become of the lease
//	release      gives the lease back
//
// It answers each with a line of JSON.
type holder struct {
	holderOrder
	locker *redlock.Locker
	db     *sql.DB
	client *redis.Client

	lease locking.Lease
	keep  *locking.Keeper
}

func beHolder() int {
	var h holder
	if err := json.Unmarshal([]byte(os.Getenv(holderConfig)), &h.holderOrder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := h.serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (h *holder) serve() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err := patiently(func() (err error) {
		h.locker, err = redlock.Open(ctx, cluster(h.Nodes))
		return err
	})
	if err != nil {
		return err
	}
	defer h.locker.Close()
	if h.db, err = sql.Open("pgx", h.Postgres); err != nil {
		return err
	}
	defer h.db.Close()
	h.client = redis.NewClient(&redis.Options{Addr: h.Redis})
	defer h.client.Close()
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		if err := json.NewEncoder(os.Stdout).Encode(h.do(ctx, commands.Text())); err != nil {
			return err
		}
	}
	return commands.Err()
}

// cluster is what all holders know of the nodes that vote.
func cluster(nodes []string) redlock.Config {
	return redlock.Config{Nodes: nodes, Namespace: "frozen", Timeout: 200 * time.Millisecond, TTL: leaseTTL, Grace: 2 * leaseTTL}
}

// patiently calls f until it succeeds: on a busy machine nodes may answer late.
func patiently(f func() error) error {
	for end := time.Now().Add(holderPatience); ; {
		err := f()
		if err == nil || time.Now().After(end) {
			return err
		}
		<-time.After(leaseTTL / 10)
	}
}

func (h *holder) do(ctx context.Context, command string) answer {
	ctx, cancel := context.WithTimeout(ctx, holderPatience)
	defer cancel()
	verb, value, _ := strings.Cut(command, " ")
	var err error
	switch verb {
	case "acquire":
		err = h.acquire(ctx)
	case "write":
		a := answer{Token: h.lease.Claim().Token}
		a.Postgres, a.Redis = became(h.writePostgres(ctx, value)), became(h.writeRedis(ctx, value))
		return a
	case "release":
		h.keep.Stop()
		_ = h.lease.Release(ctx, nil) // it may have been lost long ago
	}
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Token: h.lease.Claim().Token}
}

func (h *holder) acquire(ctx context.Context) error {
	lease, err := locking.Acquire(ctx, h.locker, locking.Request{Name: h.Resource, TTL: leaseTTL, Holder: h.Name}, locking.Retry{Tries: 1000})
	if err != nil {
		return err
	}
	h.lease = lease
	h.keep = locking.Keep(context.WithoutCancel(ctx), lease, locking.KeepConfig{})
	return nil
}

const upsertNote = "INSERT INTO notes VALUES ($1, $2) ON CONFLICT (resource) DO UPDATE SET text = EXCLUDED.text"

func (h *holder) writePostgres(ctx context.Context, value string) error {
	if h.Unguarded {
		_, err := h.db.ExecContext(ctx, upsertNote, h.Resource, value)
		return err
	}
	return sqlfence.Do(ctx, h.db, h.lease.Claim(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, upsertNote, h.Resource, value)
		return err
	})
}

func (h *holder) writeRedis(ctx context.Context, value string) error {
	if h.Unguarded {
		return h.client.Set(ctx, h.Resource, value, 0).Err()
	}
	return redisfence.Guard{Client: h.client}.Set(ctx, h.lease.Claim(), h.Resource, value, 0)
}

// became says in a word what became of a write.
func became(err error) string {
	switch {
	case err == nil:
		return wrote
	case errors.Is(err, fence.ErrStale):
		return refused
	}
	return err.Error()
}
