package acts

import (
	"net/url"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/scheduler/acts"
)

// keep is how long at least IDs are known, and expired requests are listed. No commit is
// under way for as long.
const keep = 24 * time.Hour

func key(name, sub string) kv.Key {
	return kv.Key{Kind: kv.Acts, Name: name, Sub: url.PathEscape(sub)}
}

// logKey is the key of an act in a log.
func logKey(log string, a acts.Act) kv.Key {
	return kv.Key{Kind: kv.Acts, Name: log, Sub: records.EntryOrder(a.At.UnixMilli()) + " " + url.PathEscape(a.ID)}
}

// idOf is the key by ID of an act in a log.
func idOf(inLog kv.Key) kv.Key {
	_, id, _ := strings.Cut(inLog.Sub, " ")
	return kv.Key{Kind: kv.Acts, Name: "act", Sub: id}
}

// lineKey is the key of the latest act of the line.
func lineKey(a acts.Act) kv.Key {
	if a.Kind.Request() {
		return key("line", a.Line())
	}
	return key("pause", a.Line())
}

// put makes t write the act under each of the keys.
func put(t *kv.Txn, a acts.Act, keys ...kv.Key) error {
	text, err := a.Encode()
	for _, k := range keys {
		t.Put = append(t.Put, kv.Write{Key: k, Value: text})
	}
	return err
}

// decode returns the acts that can be read.
func (s *Store) decode(list []kv.Record) []acts.Act {
	all := make([]acts.Act, 0, len(list))
	for _, r := range list {
		if act, err := acts.Decode(r.Value); err != nil {
			s.Unreadable.Skipped(r.Key.String(), err)
		} else {
			all = append(all, act)
		}
	}
	return all
}

// unreadable are what listings show of the records that cannot be read.
func (s *Store) unread(list []kv.Record) (all []acts.Act) {
	for _, r := range list {
		if _, err := acts.Decode(r.Value); err != nil {
			order, _, _ := strings.Cut(r.Key.Sub, " ")
			all = append(all, unreadable.Act(r.Key.String(), time.UnixMilli(records.MilliOf(order)).UTC(), err))
		}
	}
	return all
}
