package claims

import (
	"context"
	"maps"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
)

// left is the view of a name after the transaction of a claim that won, with the lease of
// this claim alone. It is nil if the transaction has noted a new life, whose version is unknown.
func (v view) left(t kv.Txn, o kv.Outcome) *view {
	if v.newLife {
		return nil
	}
	v.versions, v.leases, v.ends = maps.Clone(v.versions), map[kv.Key]records.Lease{}, nil
	for _, w := range t.Put {
		if v.add(kv.Record{Key: w.Key, Version: o.Version, Value: w.Value}) != nil {
			return nil
		}
	}
	return &v
}

// beforeEnd returns what FINISH decides on, and what its transaction compares besides the
// claims. The first time, nothing is read if the lease lasts even by the latest time that the
// store's clock may show. The transaction then compares all that the decision rests on: the
// life, the claims as the claim has left them, and the lease, which an operator may have
// taken. If one of them is not as it was, the transaction loses, and the next one reads.
func (l *lease) beforeEnd(ctx context.Context) (view, []kv.Key, error) {
	if l.left != nil {
		v := *l.left
		l.left = nil
		v.stamp.Now = l.held.latest(time.Now())
		v.versions[l.t.lease], v.leases[l.t.lease] = l.held.version, l.held.lease
		if l.held.version > 0 && v.lasts(l.t.lease) {
			return v, []kv.Key{l.t.lease}, nil
		}
	}
	v, err := l.t.read(ctx, l.entry()...)
	return v, nil, err
}
