package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/scheduler"
)

// listAtOnce is roughly how many versions a node lists in one answer. Listing a large
// set at once would keep it from voting for longer than a claim waits.
const listAtOnce = 500

// Jobs implements [scheduler.Roster].
func (l *Ledger) Jobs(ctx context.Context) ([]scheduler.JobInfo, error) {
	const doing = "listing the jobs"
	replies, err := answers(l.set, doing, l.published(ctx))
	if err != nil {
		return nil, err
	}
	p := published{texts: map[string]*scheduler.JobInfo{}, known: map[string]*scheduler.JobInfo{}}
	for _, reply := range replies {
		for pair := range slices.Chunk(reply.Args, 2) {
			if err := p.add(pair); err != nil {
				l.Unreadable.Skipped(fmt.Sprintf("job %.200q", pair[len(pair)-1]), err)
			}
		}
	}
	return p.sorted(), nil
}

// published returns the full list of each node, as one reply.
func (l *Ledger) published(ctx context.Context) []membership.Reply {
	list := l.set.Nodes()
	replies := make([]membership.Reply, len(list))
	var wg sync.WaitGroup
	for i, n := range list {
		wg.Go(func() { replies[i] = l.publishedAt(ctx, n) })
	}
	wg.Wait()
	return replies
}

// publishedAt pages through the list of a node until the end, or until it does not
// answer.
func (l *Ledger) publishedAt(ctx context.Context, n *membership.Node) membership.Reply {
	keys := []string{l.set.Key("jobs")}
	var all []string
	for from := "0"; ; {
		reply := n.Call(ctx, l.lua.published, keys, keepJobs.Milliseconds(), from, listAtOnce)
		if reply.Err != nil {
			return reply
		}
		all = append(all, reply.Args[min(1, len(reply.Args)):]...)
		if from = reply.Arg(0); from == "0" || from == "" {
			reply.Args = all
			return reply
		}
	}
}

// A published combines the lists of the nodes that answered.
type published struct {
	texts map[string]*scheduler.JobInfo // by text: most nodes store the same
	known map[string]*scheduler.JobInfo // by version
}

// add adds a pair: an age in milliseconds, and what was published so long ago.
func (p published) add(pair []string) error {
	if len(pair) != 2 {
		return fmt.Errorf("%q is not a pair", pair)
	}
	ms, err := strconv.ParseInt(pair[0], 10, 64)
	if err != nil {
		return err
	}
	age := max(0, time.Duration(ms)*time.Millisecond)
	head, text, _ := strings.Cut(pair[1], "|")
	account, err := decodeAccount(head)
	if err != nil {
		return err
	}
	if j := p.texts[text]; j != nil {
		known := p.known[version(*j)]
		known.Age, known.Account = min(known.Age, age), known.Account.Merge(account)
		return nil
	}
	j := &scheduler.JobInfo{}
	if err := json.Unmarshal([]byte(text), j); err != nil {
		return err
	}
	if j.Name == "" {
		return errNameless
	}
	j.Age, j.Account = age, account
	p.texts[text] = j
	p.mergeVersion(j)
	return nil
}

// mergeVersion merges two nodes' entries of one version.
func (p published) mergeVersion(j *scheduler.JobInfo) {
	name := version(*j)
	have, ok := p.known[name]
	if !ok {
		p.known[name] = j
		return
	}
	age, account := min(j.Age, have.Age), j.Account.Merge(have.Account)
	if j.Published.After(have.Published) {
		p.known[name] = j
	}
	p.known[name].Age, p.known[name].Account = age, account
}

// sorted lists versions by name, the last published first.
func (p published) sorted() []scheduler.JobInfo {
	list := make([]scheduler.JobInfo, 0, len(p.known))
	for _, j := range p.known {
		list = append(list, *j)
	}
	slices.SortFunc(list, func(a, b scheduler.JobInfo) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), b.Published.Compare(a.Published), strings.Compare(a.Hash, b.Hash))
	})
	return list
}
