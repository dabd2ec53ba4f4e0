package claims

import (
	"context"
	"math/rand/v2"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
)

// maxEarlier is how many claims of a name may have successors before a claim that overlaps
// others reads some of their leases, and how many it then reads.
const maxEarlier = 16

// maxPruned is how many leases a transaction can compare and delete beside its other keys.
func (l *Locker) maxPruned() int { return l.store.Limits().Keys/2 - 8 }

// prune splits claims that have successors into those to keep, and the leases of those to
// drop: at most so many that have ended or whose lease has expired. An open claim whose lease
// was not read may still have it.
func (v view) prune(earlier []records.Claim, most int) (kept []records.Claim, dropped []kv.Key) {
	for _, e := range earlier {
		k := records.LeaseKey(v.name, e)
		_, read := v.versions[k]
		if len(dropped) == most || e.Open() && (!read || v.lasts(k)) {
			kept = append(kept, e)
		} else {
			dropped = append(dropped, k)
		}
	}
	return kept, dropped
}

// readToClaim reads what a claim decides on, and leases that it may drop. Only a claim that
// overlaps no others needs all of them.
func (t *try) readToClaim(ctx context.Context) (view, error) {
	if !t.Overlaps {
		return t.l.readPruned(ctx, t.req.Name)
	}
	v, err := t.read(ctx)
	if err != nil || len(v.claims.Earlier) <= maxEarlier {
		return v, err
	}
	leases := v.unread()
	rand.Shuffle(len(leases), func(i, j int) { leases[i], leases[j] = leases[j], leases[i] })
	return t.read(ctx, leases[:min(len(leases), maxEarlier)]...)
}

// readPruned reads all leases of the name. If one transaction cannot compare them all, others
// first drop those that have expired.
func (l *Locker) readPruned(ctx context.Context, name string) (view, error) {
	for {
		v, err := l.readAll(ctx, name)
		if err != nil || len(v.claims.Earlier) <= l.maxPruned() {
			return v, err
		}
		after := v.claims
		var dropped []kv.Key
		if after.Earlier, dropped = v.prune(after.Earlier, l.maxPruned()); len(dropped) == 0 {
			return v, nil
		}
		txn := kv.Txn{Put: []kv.Write{records.Put(records.ClaimsKey(name), after)}}
		v.compare(&txn, records.ClaimsKey(name))
		for _, k := range dropped {
			v.drop(&txn, k)
			if _, read := v.versions[k]; read {
				v.compare(&txn, k)
			}
		}
		if _, _, err := l.commit(ctx, v, txn); err != nil {
			return v, err
		}
	}
}
