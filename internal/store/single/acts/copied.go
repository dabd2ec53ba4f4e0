package acts

import (
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/scheduler/acts"
)

// Copied returns what stores the acts of another store, in the order of their times. Of
// two writes with the same key the last counts.
func Copied(list []acts.Act) ([]kv.Write, error) {
	var t kv.Txn
	for _, a := range list {
		keys := []kv.Key{logKey("audit", a)}
		switch {
		case a.Refused():
			keys = []kv.Key{logKey("refused", a)}
		case !a.IsNote():
			keys = append(keys, key("act", a.ID), lineKey(a))
		}
		if a.Kind.Request() && !a.Refused() && a.Closed.IsZero() {
			keys = append(keys, key("open", a.ID))
		}
		if err := put(&t, a, keys...); err != nil {
			return nil, err
		}
	}
	return t.Put, nil
}
