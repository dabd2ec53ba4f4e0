package client

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Header is the start of every request of a client to a node: its first key and its
// first arguments, see head.lua.
type Header struct {
	Key  string
	Args [4]any
}

// sameHeader reports whether two calls may share a request.
func sameHeader(a, b *call) bool {
	return a.header == b.header || *a.header == *b.header
}

// Keys are names of keys, converted once to be sent to many nodes.
type Keys struct {
	names []string
	words []any
}

// NewKeys returns the names as Keys.
func NewKeys(names []string) Keys {
	k := Keys{names: names, words: make([]any, len(names))}
	for i, name := range names {
		k.words[i] = name
	}
	return k
}

// Names returns the names.
func (k Keys) Names() []string { return k.names }

// with returns the keys and arguments of a request with one call.
func (h *Header) with(keys []string, args []any) ([]string, []any) {
	return append(append(make([]string, 0, 1+len(keys)), h.Key), keys...),
		append(append(make([]any, 0, len(h.Args)+len(args)), h.Args[:]...), args...)
}

// send sends the calls in one request, written into words, and answers each. If the
// node is silent, it fails the calls that wait.
func (l *lane) send(batch []*call, words []any) []any {
	ctx, cancel := context.WithTimeout(context.Background(), l.client.timeout)
	defer cancel()
	script, keys, words := l.pack(batch, words)
	start := time.Now()
	v, err := l.client.run(ctx, script, l.client.copiesOf(l.script), keys, words)
	end := time.Now()
	err = callError(ctx, err)
	l.client.mu.Lock()
	err, silence := l.client.judge(start, end, err)
	switch {
	case l.client.closed:
		l.refuse(redis.ErrClosed)
	case silence != nil:
		l.refuse(fmt.Errorf("%w: %w", errUnsent, silence))
	}
	l.client.mu.Unlock()
	distribute(batch, start, end, v, err)
	clear(words)
	return words
}

// pack writes one call as one.lua reads it, or several as many.lua reads them.
func (l *lane) pack(batch []*call, words []any) (script *redis.Script, keys int, all []any) {
	h := batch[0].header
	all = append(append(words[:0], make([]any, evalshaWords)...), h.Key)
	for _, q := range batch {
		all = append(all, q.keys.words...)
	}
	keys = len(all) - evalshaWords
	all = append(all, h.Args[:]...)
	if len(batch) == 1 {
		return l.script.one, keys, append(all, batch[0].args...)
	}
	for _, q := range batch {
		all = append(append(all, len(q.keys.words), len(q.args)), q.args...)
	}
	return l.script.many, keys, all
}

// distribute gives each call its own answer, see many.lua.
func distribute(batch []*call, start, end time.Time, v any, err error) {
	all := list(v)
	if len(batch) == 1 || err != nil || len(all) == 0 || isWord(all[0]) {
		for _, q := range batch {
			q.answer(start, end, err, all) // of the server, or of the checks before the rule
		}
		return
	}
	head := min(len(all), batchHead)
	rest := all[head:]
	for _, q := range batch {
		var own []any
		if len(rest) == 0 {
			err = oddReply(fmt.Sprintf("%v of %d calls", all[0], len(batch)))
		} else {
			own, rest, err = cut(rest)
		}
		if err != nil {
			q.answer(start, end, err)
			continue
		}
		q.answer(start, end, nil, own[:1], all[1:head], own[1:])
	}
}

// batchHead is how many elements come before the replies to the calls: their number,
// the clock and the floor.
const batchHead = 3

// cut splits off the reply to the first call, without clock and floor, or says why it
// cannot.
func cut(rest []any) (own, left []any, err error) {
	words, ok := rest[0].(int64)
	switch {
	case ok && words < 0:
		return nil, rest[1:], oddReply("too little")
	case !ok || max(words, 1) >= int64(len(rest)):
		return nil, nil, oddReply(fmt.Sprint(rest[0]))
	case words == 0:
		return nil, rest[2:], serverError(fmt.Sprint(rest[1]))
	}
	return rest[1 : 1+words], rest[1+words:], nil
}

func isWord(v any) bool {
	_, ok := v.(string)
	return ok
}
