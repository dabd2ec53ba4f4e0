package membership

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/locking"
)

// ErrBlank says that a node holds nothing of this namespace: it is new, or lost its
// memory. Run and Join format it if the other nodes allow it.
var ErrBlank = errors.New("it is blank")

// A RefusedError says that a node must not be used as configured: its record conflicts with this
// client, its server is not suitable, or it refuses the login. A retry helps only after one of
// them was changed. It matches locking.ErrRefused.
type RefusedError struct {
	Node string
	// Reason says what the node holds or is, and what to do about it.
	Reason string
}

func (e *RefusedError) Error() string {
	if e.Node == "" {
		return e.Reason
	}
	return e.Node + ": " + e.Reason
}

// Is makes a RefusedError match locking.ErrRefused.
func (e *RefusedError) Is(target error) bool { return target == locking.ErrRefused }

// An UnwritableError says that a node answers, but takes no writes of this client: its memory or
// disk is full, for example, or its user lacks a right. So it grants no ticks until that is mended.
type UnwritableError struct {
	Node string
	Err  *client.ServerError
}

func (e *UnwritableError) Error() string {
	return e.Node + ": it answers, but takes no writes, so it grants no ticks: " + e.Err.Error()
}

// Unwrap returns the answer to a write.
func (e *UnwritableError) Unwrap() error { return e.Err }

// storeSilent is locking.ErrNoQuorum in the words of one store.
type storeSilent struct{}

func (storeSilent) Error() string { return "the store does not answer" }

func (storeSilent) Is(target error) bool { return target == locking.ErrNoQuorum }

// refusedByQuorum is locking.ErrNoQuorum when so many nodes refuse that no quorum is left.
type refusedByQuorum struct{}

func (refusedByQuorum) Error() string { return locking.ErrRefused.Error() }

func (refusedByQuorum) Is(target error) bool {
	return target == locking.ErrNoQuorum || target == locking.ErrRefused
}

// noQuorum returns the error when only have nodes can be used, and need are needed. It quotes the
// others. If fewer than need accept the login, it is a RefusedError.
func (s *Set) noQuorum(have, need int, errs []error) error {
	refused := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil || !client.RefusesLogin(err) })
	if len(refused) > s.Len()-need {
		return &RefusedError{Reason: "the login is refused: " + join(refused...).Error()}
	}
	if s.OneStore() {
		return fmt.Errorf("%w: %w", s.NoQuorumError(), join(errs...))
	}
	return fmt.Errorf("%w: %d of the %d nodes needed: %w", locking.ErrNoQuorum, have, need, join(errs...))
}

// errorList is several errors on one line; errors.Join uses several lines.
type errorList []error

// join returns the non-nil errors as one, nil if there are none.
func join(errs ...error) error {
	switch errs = nonNil(errs); len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return errorList(errs)
}

// nonNil removes the nil errors from errs, in place.
func nonNil(errs []error) []error {
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

func (l errorList) Error() string {
	texts := make([]string, len(l))
	for i, err := range l {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the errors.
func (l errorList) Unwrap() []error { return l }

// copySeal is what a node is sealed for until a copy of another store is finished.
const copySeal = "store-copy"

// refusal says why a node must not be used. The code is the one that scripts return after CONFIG,
// or one of this package; held is the value that the node has, or its answer.
func (n *Node) refusal(code, held string) *RefusedError {
	return n.refusalf("%s", n.refusalText(code, held))
}

// refusalf returns a RefusedError with this text. For one Redis it replaces "the node" by "the store",
// and "these nodes" by "this store".
func (n *Node) refusalf(format string, args ...any) *RefusedError {
	reason := fmt.Sprintf(format, args...)
	if n.set.OneStore() {
		reason = strings.NewReplacer("the node", "the store", "these nodes", "this store").Replace(reason)
	}
	return &RefusedError{Node: n.name, Reason: reason}
}

func (n *Node) refusalText(what, held string) string {
	s := n.set
	switch what {
	case "format":
		return formatText(held, n.set.cfg.Namespace)
	case "info":
		return fmt.Sprintf("the node's run_id cannot be read (%s): allow the user +info, without it a restart would go unnoticed; or set redis.durable: true if no restart and no failover loses anything", held)
	case "members":
		return fmt.Sprintf("the node belongs to the list [%s], this replica lists [%s]: give every replica of the namespace the same redis.nodes; quorate nodes change moves a cluster to another list", held, s.list)
	case "epoch":
		return fmt.Sprintf("the node's list has epoch %s, this replica's %d: the list was changed; restart the replica with the new configuration", held, s.epoch.get())
	case "name":
		return fmt.Sprintf("the node knows itself as %s, this replica lists it as %s: were two URLs swapped?", held, n.name)
	case "grace":
		return fmt.Sprintf("the node holds restart_grace %sms, this replica %v: give every replica the same redis.restart_grace", held, s.cfg.Grace)
	case "record":
		return fmt.Sprintf("the key %s there is not Quorate's: another program uses this namespace; delete the key on the node (DEL %s), or choose another namespace", held, held)
	case "sealed":
		if held == copySeal {
			return "a copy to these nodes has not finished: empty them, and repeat quorate store copy"
		}
		return fmt.Sprintf("the node is sealed for a change to the list [%s]: finish it with quorate nodes change, then restart the replicas with the configuration of that list", held)
	case "clock":
		return fmt.Sprintf("the node's clock is %sms behind the clocks of the old list's nodes: correct the clocks and try again", held)
	case "ttl":
		return fmt.Sprintf("lock.ttl %v must be below the restart_grace %sms that the node holds", s.cfg.TTL, held)
	}
	return fmt.Sprintf("the node refuses this client: %s %s", what, held)
}

// formatText says that the node's data has another format.
func formatText(held, ns string) string {
	text := fmt.Sprintf("the node holds data of format %s, this release knows format %d only: ", held, FormatVersion)
	if version, _ := strconv.Atoi(held); version > FormatVersion {
		return text + "upgrade quorate to a release that knows format " + held
	}
	return text + fmt.Sprintf("stop all replicas, delete the keys %s:* and %s* on every node (FLUSHALL if nothing else is stored there), then start the replicas", ns, prefix(ns))
}
