package locking

import "context"

// A Watcher is a Locker that can tell at little cost what became of a tick: for
// replicas that expect another one to claim it.
type Watcher interface {
	Locker
	// Watch begins to look at the tick of req. Watchers with different start
	// begin at different nodes, so that none has to answer them all.
	Watch(req Request, start uint64) Watch
}

// A Watch looks at one tick, each time it is asked. It is used by one goroutine
// at a time, and needs no end.
type Watch interface {
	// Look asks one node, each time the next one that is up and has a say, and
	// changes nothing there. Nil says that the node knows of no obstacle, or that
	// there is none to ask: TryAcquire may win, or tell why not.
	// Else it returns an *AcquireError:
	//   - ErrDone: the tick was run and finished. One node's word is enough.
	//   - ErrClaimed: as from TryAcquire, once a quorum of nodes, one Look after
	//     the other, have named the same owner and token.
	//   - ErrTaken: a hint that somebody is at it: at this node the tick is
	//     claimed, or the lock held until Until. Look again later.
	//   - ErrSilent: the node did not answer in time, perhaps because it is asked
	//     too much already. Look again later, which asks the next one.
	Look(ctx context.Context) error
}
