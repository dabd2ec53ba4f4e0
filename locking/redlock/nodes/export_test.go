package nodes

import "context"

// SealFor seals a node for the change to a list at an epoch, as the first half of
// a Change that is cut off.
func SealFor(ctx context.Context, n *Node, to Config, epoch int64) error {
	next, err := Open(to)
	if err != nil {
		return err
	}
	defer next.Close()
	return n.run(ctx, n.set.rules.seal, nil, []any{next.members.target(epoch), next.members.names}).Err
}

// Rule returns the script of membership of that name.
func Rule(name string) *Script {
	r := newRules()
	for _, s := range []*Script{r.peek, r.format, r.init, r.seal, r.open} {
		if s.name == name {
			return s
		}
	}
	return nil
}

// Together sends calls of a batched script in one request, each with the given
// key and arguments, and returns their replies in order.
func Together(ctx context.Context, n *Node, script *Script, key string, calls ...[]any) []Reply {
	w := n.transport.(*wire)
	l := w.lane(script)
	r := &round{finished: make(chan struct{})}
	r.left.Store(int32(len(calls)))
	batch := make([]*queued, len(calls))
	for i, own := range calls {
		batch[i] = &queued{round: r, key: n.key, header: n.header(script), keys: []string{key}, args: own}
	}
	l.send(batch)
	list := make([]Reply, len(calls))
	for i, q := range batch {
		if list[i] = (Reply{Node: n.name}); q.err != nil {
			list[i].Err = callError(ctx, q.err)
		} else if words, err := fields(q.value); err != nil {
			list[i].Err = err
		} else {
			list[i] = n.read(list[i], words)
		}
	}
	return list
}
