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
	for i, q := range batch {
		if i >= len(list) {
			q.answer(nil, oddReply(fmt.Sprintf("%d of %d calls", len(list), len(batch))))
		} else if text, failed := failure(list[i]); failed {
			q.answer(nil, serverError(text))
		} else {
			q.answer(list[i], nil)
		}
	}
}

func isWord(v any) bool {
	_, ok := v.(string)
	return ok
}

// failure returns the text of a call that failed on the node.
func failure(v any) (string, bool) {
	list, _ := v.([]any)
	if len(list) != 1 {
		return "", false
	}
	text, ok := list[0].(string)
	return text, ok
}
