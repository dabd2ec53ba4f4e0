package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/plainjson"
	"github.com/quorate/quorate/internal/store/listing"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/scheduler/roster"
)

// Beat implements [roster.Roster].
func (l *Ledger) Beat(ctx context.Context, self roster.Replica) ([]roster.Replica, error) {
	self.Seen = time.Now().Round(0)
	b, err := json.Marshal(self)
	if err != nil {
		return nil, fmt.Errorf("encoding a heartbeat: %w", err)
	}
	replies, err := heartbeats(ctx, l, "announcing this replica", l.lua.announce, 0, self.Process(), b)
	if err != nil {
		return nil, err
	}
	return roster.Successors(latest(l.Unreadable, replies, heard)), nil
}

// Replicas implements [roster.Roster].
func (l *Ledger) Replicas(ctx context.Context) ([]roster.Replica, error) {
	replies, err := heartbeats(ctx, l, "listing the replicas", l.lua.look, 0)
	if err != nil {
		return nil, err
	}
	return roster.Successors(latest(l.Unreadable, replies, heard)), nil
}

// Remembered lists the replicas seen lately, and the lost ones: most of the nodes that
// answer have lost one. The others may only have missed that it left.
func (l *Ledger) Remembered(ctx context.Context) ([]roster.Replica, error) {
	const doing = "listing the replicas"
	replies, err := heartbeats(ctx, l, doing, l.lua.look, 1)
	if err != nil {
		return nil, err
	}
	nodes, lost := map[string]int{}, map[string]roster.Replica{}
	for i := range replies {
		var here membership.Reply // the lost ones, as this node knows them
		replies[i].Args = slices.DeleteFunc(replies[i].Args, func(text string) bool {
			text, is := strings.CutPrefix(text, lostPrefix)
			if is {
				here.Args = append(here.Args, text)
			}
			return is
		})
		for _, r := range latest(l.Unreadable, []membership.Reply{here}, heard) {
			if nodes[r.Process()]++; r.Seen.After(lost[r.Process()].Seen) {
				lost[r.Process()] = r
			}
		}
	}
	list := latest(l.Unreadable, replies, heard)
	for _, r := range list {
		delete(lost, r.Process())
	}
	for id, r := range lost {
		if nodes[id] > len(replies)/2 {
			list = append(list, r.Lost())
		}
	}
	return roster.Successors(list), nil
}

// Left lists the replicas that left. One node that knows is enough: only those that answered Leave do.
func (l *Ledger) Left(ctx context.Context) ([]roster.Replica, error) {
	replies, err := l.call(ctx, "listing the replicas that left", l.lua.left, "left", roster.RememberLeft.Milliseconds())
	if err != nil {
		return nil, err
	}
	return roster.Left(latest(l.Unreadable, replies, heard)), nil
}

// lostPrefix precedes the announcement of a lost replica.
const lostPrefix = "lost|"

func heartbeats(ctx context.Context, l *Ledger, doing string, script *membership.Script, lost int, announced ...any) ([]membership.Reply, error) {
	args := append([]any{l.lately.Milliseconds(), roster.RememberLost.Milliseconds(), roster.MostLost, lost}, announced...)
	return l.call(ctx, doing, script, "replicas", args...)
}

// heard is the name of an announcement, and its time.
func heard(r roster.Replica) (string, time.Time) { return r.Process(), r.Seen }

// Leave implements [roster.Roster].
func (l *Ledger) Leave(ctx context.Context, self roster.Replica) error {
	const doing = "leaving the roster"
	self.Seen = time.Now().Round(0)
	b, err := json.Marshal(self)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	keys := []string{l.set.Key("replicas"), l.set.Key("left")}
	_, err = l.set.Answers(doing, l.set.Call(ctx, l.lua.leave, keys, self.Process(), b, roster.RememberLeft.Milliseconds(), roster.MostLeft))
	return err
}

// errNameless is the error of a record that does not say whose it is.
var errNameless = errors.New("it has no name")

// latest decodes the nodes' texts, each only once, and returns the newest of each name,
// sorted by name.
func latest[V any](u *unreadable.Log, replies []membership.Reply, key func(V) (string, time.Time)) []V {
	newest, known := map[string]V{}, map[string]bool{}
	for _, reply := range replies {
		for _, text := range reply.Args {
			if known[text] {
				continue
			}
			known[text] = true
			var v V
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				u.Skipped(fmt.Sprintf("replica %.200q", text), err)
				continue
			}
			name, at := key(v)
			if name == "" {
				u.Skipped(fmt.Sprintf("replica %.200q", text), errNameless)
				continue
			}
			have, ok := newest[name]
			if _, old := key(have); !ok || at.After(old) {
				newest[name] = v
			}
		}
	}
	list := make([]V, 0, len(newest))
	for _, name := range slices.Sorted(maps.Keys(newest)) {
		list = append(list, newest[name])
	}
	return list
}

// publishAtOnce bounds the versions per message, so a large set does not keep a node from
// voting.
const publishAtOnce = 500

// Publish implements [roster.Roster].
func (l *Ledger) Publish(ctx context.Context, jobs []roster.JobInfo) error {
	for some := range slices.Chunk(jobs, publishAtOnce) {
		var args []any
		for _, j := range some {
			b, err := plainjson.Marshal(j)
			if err != nil {
				return fmt.Errorf("encoding job %s: %w", j.Name, err)
			}
			args = append(args, version(j), encodeAccount(j.Account)+"|"+string(b))
		}
		if _, err := l.call(ctx, "publishing the jobs", l.lua.publish, "jobs", args...); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Unpublish implements [roster.Roster].
func (l *Ledger) Unpublish(ctx context.Context, jobs []roster.JobInfo) error {
	for some := range slices.Chunk(jobs, publishAtOnce) {
		var names []any
		for _, j := range some {
			names = append(names, version(j))
		}
		if _, err := l.call(ctx, "taking jobs off the list", l.lua.unpublish, "jobs", names...); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// version is the key of a version of a job.
func version(j roster.JobInfo) string { return j.Name + "|" + j.Hash }

func (l *Ledger) call(ctx context.Context, doing string, script *membership.Script, key string, args ...any) ([]membership.Reply, error) {
	return l.set.Answers(doing, l.set.Call(ctx, script, []string{l.set.Key(key)}, args...))
}

// listAtOnce is roughly how many versions a node lists in one answer. Listing a large
// set at once would keep it from voting for longer than a claim waits.
const listAtOnce = 500

// Jobs implements [roster.Roster].
func (l *Ledger) Jobs(ctx context.Context) ([]roster.JobInfo, error) {
	const doing = "listing the jobs"
	lists := membership.Each(l.set.Nodes(), func(n *membership.Node) membership.Reply { return l.publishedAt(ctx, n) })
	replies, err := l.set.Answers(doing, lists)
	if err != nil {
		return nil, err
	}
	p := published{texts: map[string]roster.JobInfo{}, versions: map[string]roster.JobInfo{}}
	for _, reply := range replies {
		for pair := range slices.Chunk(reply.Args, 2) {
			if err := p.add(pair); err != nil {
				l.Unreadable.Skipped(fmt.Sprintf("job %.200q", pair[len(pair)-1]), err)
			}
		}
	}
	list := slices.AppendSeq(make([]roster.JobInfo, 0, len(p.versions)), maps.Values(p.versions))
	listing.SortVersions(list)
	return list, nil
}

// publishedAt pages through the list of a node until the end, or until it does not
// answer.
func (l *Ledger) publishedAt(ctx context.Context, n *membership.Node) membership.Reply {
	keys := []string{l.set.Key("jobs")}
	var all []string
	for from := "0"; ; {
		reply := n.Call(ctx, l.lua.published, keys, listing.KeepJobs.Milliseconds(), from, listAtOnce)
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
	texts    map[string]roster.JobInfo // by text: most nodes store the same
	versions map[string]roster.JobInfo
}

// add adds a pair: an age in milliseconds, and what was published so long ago. Of two nodes'
// entries of one version the one published last counts.
func (p published) add(pair []string) error {
	if len(pair) != 2 {
		return fmt.Errorf("%q is not a pair", pair)
	}
	ms, err := strconv.ParseInt(pair[0], 10, 64)
	if err != nil {
		return err
	}
	head, text, _ := strings.Cut(pair[1], "|")
	account, err := decodeAccount(head)
	if err != nil {
		return err
	}
	j, decoded := p.texts[text]
	if !decoded {
		if err := json.Unmarshal([]byte(text), &j); err != nil {
			return err
		}
		if j.Name == "" {
			return errNameless
		}
		p.texts[text] = j
	}
	age := max(0, time.Duration(ms)*time.Millisecond)
	if have, twice := p.versions[version(j)]; twice {
		age, account = min(age, have.Age), have.Account.Merge(account)
		if !j.Published.After(have.Published) {
			j = have
		}
	}
	j.Age, j.Account = age, account
	p.versions[version(j)] = j
	return nil
}

// encodeAccount returns an account as publish.lua expects it.
func encodeAccount(a roster.Account) string {
	var list []string
	for _, ms := range listing.NewAccount(a) {
		list = append(list, strconv.FormatInt(ms, 10))
	}
	return strings.Join(list, ",")
}

// decodeAccount is the inverse of encodeAccount.
func decodeAccount(text string) (roster.Account, error) {
	var a listing.Account
	words := strings.Split(text, ",")
	if len(words) != len(a) {
		return roster.Account{}, fmt.Errorf("invalid account of a job %q", text)
	}
	for i, word := range words {
		var err error
		if a[i], err = strconv.ParseInt(word, 10, 64); err != nil {
			return roster.Account{}, fmt.Errorf("invalid account of a job %q: %w", text, err)
		}
	}
	return a.Times(), nil
}

// RenewSet implements [roster.JobSets].
func (l *Ledger) RenewSet(ctx context.Context, hash string) (bool, error) {
	replies, err := l.keepSet(ctx, hash)
	for _, r := range replies {
		if r.Int(0) == 0 {
			return false, err
		}
	}
	return err == nil, err
}

// KeepSet implements [roster.JobSets].
func (l *Ledger) KeepSet(ctx context.Context, hash string, packed []byte) error {
	_, err := l.keepSet(ctx, hash, packed)
	return err
}

func (l *Ledger) keepSet(ctx context.Context, hash string, packed ...any) ([]membership.Reply, error) {
	args := append([]any{listing.KeepSets.Milliseconds()}, packed...)
	const doing = "keeping a set of jobs"
	return l.set.Answers(doing, l.set.Call(ctx, l.lua.keepSet, []string{l.set.Key("set", hash)}, args...))
}

// JobSet implements [roster.JobSets]. One node that has it is enough.
func (l *Ledger) JobSet(ctx context.Context, hash string) ([]byte, error) {
	replies := l.set.Call(ctx, l.lua.readSet, []string{l.set.Key("set", hash)})
	for _, r := range replies {
		if r.Err == nil && r.Code == "OK" {
			return []byte(r.Arg(0)), nil
		}
	}
	_, err := l.set.Answers("reading a set of jobs", replies)
	return nil, cmp.Or(err, roster.ErrNoJobSet)
}

var _ roster.JobSets = (*Ledger)(nil)
