package nodes

import (
	"context"
	"fmt"
	"slices"
)

// headerArgs is how many arguments every request begins with, see head.lua.
const headerArgs = 9

// sameHeader tells whether two calls say the same of the client.
func sameHeader(a, b *queued) bool {
	return a.keys[0] == b.keys[0] && slices.Equal(a.args[:headerArgs], b.args[:headerArgs])
}

// send sends the calls in one request, which has a timeout of its own: callers
// may leave. It answers each, and returns the error of the whole request.
func (l *lane) send(batch []*queued) error {
	ctx, cancel := context.WithTimeout(context.Background(), l.wire.timeout)
	defer cancel()
	if len(batch) == 1 {
		v, err := l.wire.run(ctx, l.script.one, batch[0].keys, batch[0].args)
		batch[0].answer(v, err)
		return err
	}
	keys, args := pack(batch)
	v, err := l.wire.run(ctx, l.script.many, keys, args)
	hand(batch, v, err)
	return err
}

// pack writes the calls one behind the other, as many.lua reads them.
func pack(batch []*queued) (keys []string, args []any) {
	first := batch[0]
	keys = append(make([]string, 0, len(batch)*len(first.keys)), first.keys[0])
	args = append(make([]any, 0, len(batch)*(len(first.args)+1)), first.args[:headerArgs]...)
	for _, q := range batch {
		own, say := q.keys[1:], q.args[headerArgs:]
		keys = append(keys, own...)
		args = append(append(args, len(own), len(say)), say...)
	}
	return keys, args
}

// hand gives each call its own answer, see many.lua.
func hand(batch []*queued, v any, err error) {
	list, _ := v.([]any)
	if err != nil || len(list) == 0 || isWord(list[0]) {
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
