package nodes

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// headerArgs is how many arguments every request begins with, see head.lua.
const headerArgs = 9

// sameHeader tells whether two calls say the same of the client.
func sameHeader(a, b *queued) bool {
	return a.key == b.key && (&a.header[0] == &b.header[0] || slices.Equal(a.header, b.header))
}

// send sends the calls in one request, which has a timeout of its own: callers
// may leave. It answers each, and sends those who wait away if the node is silent.
func (l *lane) send(batch []*queued) {
	ctx, cancel := context.WithTimeout(context.Background(), l.wire.timeout)
	defer cancel()
	p := l.script.one
	pack := packOne
	if len(batch) > 1 {
		p, pack = l.script.many, packMany
	}
	keys, args := pack(batch)
	start := time.Now()
	v, err := l.wire.run(ctx, p, keys, args)
	end := time.Now()
	if err != nil {
		err = callError(ctx, err)
	}
	l.wire.mu.Lock()
	err, silence := l.wire.judge(start, end, err)
	l.dismiss(silence)
	l.wire.mu.Unlock()
	for _, q := range batch {
		q.asked, q.heard = start, end
	}
	hand(batch, v, err)
}

// packOne writes a call as one.lua reads it.
func packOne(batch []*queued) (keys []string, args []any) {
	q := batch[0]
	keys = append(append(make([]string, 0, 1+len(q.keys)), q.key), q.keys...)
	args = append(append(make([]any, 0, headerArgs+len(q.args)), q.header...), q.args...)
	return keys, args
}

// packMany writes the calls one behind the other, as many.lua reads them.
func packMany(batch []*queued) (keys []string, args []any) {
	first := batch[0]
	keys = append(make([]string, 0, 1+len(batch)*len(first.keys)), first.key)
	args = append(make([]any, 0, headerArgs+len(batch)*(len(first.args)+2)), first.header...)
	for _, q := range batch {
		keys = append(keys, q.keys...)
		args = append(append(args, len(q.keys), len(q.args)), q.args...)
	}
	return keys, args
}

// hand gives each call its own answer, see many.lua.
func hand(batch []*queued, v any, err error) {
	list, _ := v.([]any)
	if len(batch) == 1 || err != nil || len(list) == 0 || isWord(list[0]) {
		for _, q := range batch {
			q.answer(v, err) // of the server, or of the checks before the rule
		}
		return
	}
	head := min(len(list), batchHead)
	rest := list[head:]
	for _, q := range batch {
		if len(rest) == 0 {
			q.answer(nil, oddReply(fmt.Sprintf("%v of %d calls", list[0], len(batch))))
			continue
		}
		var value any
		value, rest, err = cut(list[:head], rest)
		q.answer(value, err)
	}
}

// batchHead is how many elements come before the replies to the calls: how many
// they are, the clock and the floor.
const batchHead = 3

// cut returns the reply to the first call, and what is left, or why there is none.
func cut(head, rest []any) (value any, left []any, err error) {
	words, ok := rest[0].(int64)
	switch {
	case ok && words < 0:
		return nil, rest[1:], oddReply("too little")
	case !ok || max(words, 1) >= int64(len(rest)):
		return nil, nil, oddReply(fmt.Sprint(rest[0]))
	case words == 0:
		return nil, rest[2:], serverError(fmt.Sprint(rest[1]))
	}
	one := append(make([]any, 0, words+batchHead-1), rest[1], head[1], head[2])
	return append(one, rest[2:1+words]...), rest[1+words:], nil
}

func isWord(v any) bool {
	_, ok := v.(string)
	return ok
}
