package redlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// ErrUnknownName is what Forget returns where the nodes keep nothing of a name.
var ErrUnknownName = errors.New("the nodes keep nothing of it")

// Forget drops what the nodes keep of a name that nobody will use any more: the
// claim of a job or of a plain lock, and the job's ledger with its logs. A program that locks
// things which come and go should forget those that have gone, or each leaves
// a claim behind for ever.
//
// It is safe also when the name comes back: each node remembers, for all names
// it has forgotten together, the largest token and the latest tick. Tokens go on
// growing, and no tick up to then runs; nor does one of another job of which
// nothing is kept.
//
// It returns an error matching locking.ErrTaken while some node holds the lock or a share of it,
// ErrUnknownName where there is nothing to forget, and one matching
// locking.ErrNoQuorum when fewer than a quorum have done it. Asking again is
// harmless, and a node that was not reached may keep what it has: no node
// relies on what others have forgotten.
func Forget(ctx context.Context, set *nodes.Set, name string) error {
	held, err := holdersOf(ctx, set, name)
	if err != nil {
		return err
	}
	if len(held) > 0 && held[0].On.For > 0 {
		return fmt.Errorf("%s: %w by %v on %d of %d nodes", name, locking.ErrTaken, held[0], held[0].On.For, held[0].On.Of)
	}
	var keys []string
	for _, what := range []string{"lock", "claim", "runs", "notes", "logs", "shares"} {
		keys = append(keys, set.JobKey(name, what))
	}
	replies := set.Call(ctx, forgetScript, keys)
	if _, err := answered(set, "forgetting "+name, reports(replies)); err != nil {
		return err
	}
	return forgotten(name, set.Quorum(), replies)
}

// forgotten judges the answers of a quorum at least.
func forgotten(name string, quorum int, replies []nodes.Reply) error {
	n := map[string]int{}
	for _, r := range replies {
		n[r.Code]++
	}
	switch {
	case n[codeBusy] > 0 && n[codeOK]+n["NONE"] < quorum:
		return fmt.Errorf("%s: %w: somebody has begun to use it", name, locking.ErrTaken)
	case n[codeOK] == 0:
		return fmt.Errorf("%s: %w", name, ErrUnknownName)
	}
	return nil
}
