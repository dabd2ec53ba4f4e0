package view

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Host is what the replica at hand has for the parts of a program that count or show it.
type Host struct {
	ID, Version string
	Jobs        []string        // the names of those that it serves at first
	NotReady    func() []string // why it takes no ticks; nothing if it does

	Control  Control
	Nodes    Nodes
	Settings func() any // the configuration in effect, without secrets
	// Live returns a run that goes on in this process, and what it has logged so far.
	Live func(job string, token locking.Token) (ledger.Log, bool)

	Metrics     http.Handler // nil: nobody counts
	UsersFailed func(bool)   // tells the metrics; nil: nobody counts
	Logger      *slog.Logger
}

// Nodes are those of a cluster, or its only store. Each method looks at all of them.
type Nodes interface {
	// NodeKind is KindNode, or KindStore for one store, which has no votes.
	NodeKind() string
	Nodes(ctx context.Context) []Node
	Checks(ctx context.Context) []Check
	Locks(ctx context.Context) ([]Lock, error)
}
