package acts

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/scheduler/acts"
)

// placeRecords is how many records share the places of open requests: requests at the same time
// seldom change the same one.
const placeRecords = 16

// takePlace makes t take a place for a request, so requests at the same time share the bound. A record
// lists the requests that have its places; those that are open no longer have none.
func (s *Store) takePlace(t *kv.Txn, act acts.Act, places []kv.Record, open []acts.Act) error {
	isOpen := map[string]bool{}
	for _, a := range open {
		isOpen[a.ID] = true
	}
	most, n := act.Kind.Most(s.most), min(placeRecords, s.most)
	for _, i := range rand.Perm(n) {
		taken := kv.Compare{Key: key("places", strconv.Itoa(i))}
		var ids []string
		for _, r := range places {
			if r.Key == taken.Key {
				taken.Version = r.Version
				_ = json.Unmarshal(r.Value, &ids) // one that is no list is written anew
			}
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return !isOpen[id] })
		if len(ids) >= most*(i+1)/n-most*i/n {
			continue
		}
		text, err := json.Marshal(append(ids, act.ID))
		t.If, t.Put = append(t.If, taken), append(t.Put, kv.Write{Key: taken.Key, Value: text})
		return err
	}
	return acts.TooMany(act.Kind, most)
}
