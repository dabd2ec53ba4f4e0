package served

import (
	"fmt"
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler/roster"
)

// Live replicas are strangers once no start, drain or change explains that they serve other jobs
// under the same names. What is not known is not compared.
func TestStrangers(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	sets := map[string]roster.JobSet{
		"s1":    {Count: 2, Jobs: []roster.JobText{{Name: "b", Key: "b", Hash: "1"}, {Name: "a", Key: "a", Hash: "1", Code: "run"}}},
		"s2":    {Count: 2, Jobs: []roster.JobText{{Name: "b", Key: "b", Hash: "2"}, {Name: "a", Key: "a", Hash: "1", Code: "other"}}},
		"s3":    {Count: 2, Jobs: []roster.JobText{{Name: "b", Key: "b", Hash: "3"}, {Name: "a", Key: "a", Hash: "3"}}},
		"apart": {Count: 1, Jobs: []roster.JobText{{Name: "c", Key: "c", Hash: "1"}}},
		"large": {Count: 9000},
	}
	read := func(hash string) (roster.JobSet, error) {
		set, ok := sets[hash]
		if !ok {
			return roster.JobSet{}, roster.ErrNoJobSet
		}
		return set, nil
	}
	replica := func(id, program, hash string, started, since time.Duration) roster.Replica {
		return roster.Replica{ID: id, Program: program, ConfigHash: hash, State: roster.StateReady, Started: now.Add(-started), ConfigSince: now.Add(-since)}
	}
	a := replica("a", "shop", "s1", time.Hour, time.Hour)
	drains := replica("x", "shop", "s1", time.Hour, time.Hour)
	drains.State = roster.StateDraining
	for name, tt := range map[string]struct {
		beside []roster.Replica
		want   string
	}{
		"the same":                             {[]roster.Replica{a}, "[] []"},
		"another version":                      {[]roster.Replica{replica("b", "shop", "s2", time.Hour, time.Hour)}, "[a b] [a b]"},
		"another program":                      {[]roster.Replica{replica("b", "billing", "s1", time.Hour, time.Second)}, "[a b] [a b]"},
		"an unknown program":                   {[]roster.Replica{replica("b", "", "s1", time.Hour, time.Hour)}, "[] []"},
		"it has just started":                  {[]roster.Replica{replica("b", "billing", "s2", Calm-1, Calm-1)}, "[] []"},
		"another has":                          {[]roster.Replica{replica("b", "billing", "s2", time.Hour, time.Hour), replica("c", "shop", "s1", 1, 1)}, "[] [] []"},
		"another one drains":                   {[]roster.Replica{replica("b", "billing", "s2", time.Hour, time.Hour), drains}, "[] [] []"},
		"this one has just changed":            {[]roster.Replica{replica("b", "shop", "s2", time.Hour, time.Hour), replica("c", "shop", "s3", time.Hour, Calm-1)}, "[a b] [a b] []"},
		"one that came first has just changed": {[]roster.Replica{replica("b", "shop", "s3", time.Hour, Calm-1), replica("c", "shop", "s2", time.Hour, time.Hour)}, "[a b] [] [a b]"},
		"three versions":                       {[]roster.Replica{replica("b", "shop", "s2", time.Hour, time.Hour), replica("c", "shop", "s3", time.Hour, time.Hour)}, "[a b] [a b] [a b]"},
		"it has just changed":                  {[]roster.Replica{replica("b", "shop", "s2", time.Hour, Calm-1)}, "[] []"},
		"no common names":                      {[]roster.Replica{replica("b", "billing", "apart", time.Hour, time.Hour)}, "[] []"},
		"not known":                            {[]roster.Replica{replica("b", "billing", "none", time.Hour, time.Hour)}, "[] []"},
		"too large":                            {[]roster.Replica{replica("b", "billing", "large", time.Hour, time.Hour)}, "[] []"},
		"two of each": {
			[]roster.Replica{a, replica("b", "billing", "s2", time.Hour, time.Hour), replica("c", "billing", "s2", time.Hour, time.Hour)},
			"[a b] [a b] [a b] [a b]",
		},
		"four kinds": {
			[]roster.Replica{
				replica("b", "billing", "s2", time.Hour, time.Hour), replica("c", "mail", "apart", time.Hour, time.Hour),
				replica("d", "post", "apart", time.Hour, time.Hour),
			},
			"[a b] [a b] [c] [c]",
		},
	} {
		if got := fmt.Sprint(Strangers(append([]roster.Replica{a}, tt.beside...), now, read)); got != "["+tt.want+"]" {
			t.Errorf("%s: %s, want [%s]", name, got, tt.want)
		}
	}
}
