package acts

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/onestore/records"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/scheduler/acts"
)

// keep is how long at least IDs are known, and expired requests are listed. No commit is
// under way for as long.
const keep = 24 * time.Hour

func key(name, sub string) store.Key {
	return store.Key{Kind: store.Acts, Name: name, Sub: url.PathEscape(sub)}
}

// logKey is the key of an act in a log.
func logKey(log string, a acts.Act) store.Key {
	return store.Key{Kind: store.Acts, Name: log, Sub: records.EntryOrder(a.At.UnixMilli()) + " " + url.PathEscape(a.ID)}
}

// idOf is the key by ID of an act in a log.
func idOf(inLog store.Key) store.Key {
	_, id, _ := strings.Cut(inLog.Sub, " ")
	return store.Key{Kind: store.Acts, Name: "act", Sub: id}
}

// lineKey is the key of the latest act of the line.
func lineKey(a acts.Act) store.Key {
	if a.Kind.Request() {
		return key("line", a.Line())
	}
	return key("pause", a.Line())
}

// put makes t write the act under each of the keys.
func put(t *store.Txn, a acts.Act, keys ...store.Key) error {
	text, err := a.Encode()
	for _, k := range keys {
		t.Put = append(t.Put, store.Write{Key: k, Value: text})
	}
	return err
}

func decode(list []store.Record) ([]acts.Act, error) {
	all := make([]acts.Act, len(list))
	for i, r := range list {
		var err error
		if all[i], err = acts.Decode(r.Value); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Key, err)
		}
	}
	return all, nil
}
