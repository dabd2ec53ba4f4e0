package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/quorate/quorate/internal/store/single/groups"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// A dialect connects the shared layer of SQL databases to a file.
type dialect struct {
	path, namespace string
	opening         chan struct{} // held while the file is opened
	current         atomic.Pointer[opened]
}

func newDialect(path, namespace string) *dialect {
	return &dialect{path: path, namespace: namespace, opening: make(chan struct{}, 1)}
}

// opens is how often one call opens a file that is replaced meanwhile.
const opens = 5

// Connect implements [sqlstore.Dialect]. It returns a connection to the file that is at the path now.
func (d *dialect) Connect(ctx context.Context) (*sql.Conn, error) {
	for left := opens; ; left-- {
		conn, err := d.tryConnect(ctx)
		if err == nil {
			return conn, nil
		}
		if left == 0 || !errors.Is(err, errReplaced) || ctx.Err() != nil {
			return nil, groups.Unsent{Err: err}
		}
	}
}

func (d *dialect) tryConnect(ctx context.Context) (*sql.Conn, error) {
	o := d.current.Load()
	if o == nil || o.same() != nil {
		var err error
		if o, err = d.reopen(ctx); err != nil {
			return nil, err
		}
	}
	conn, err := o.db.Conn(ctx)
	if err != nil && d.current.Load() != o {
		err = fmt.Errorf("%w (%w)", errReplaced, err) // another call has closed the connections for that
	}
	return conn, err
}

// reopen opens the file anew if it is another one than that in use. It closes the connections to the
// old one first: the new one may be waiting for that.
func (d *dialect) reopen(ctx context.Context) (*opened, error) {
	select {
	case d.opening <- struct{}{}:
		defer func() { <-d.opening }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	o := d.current.Load()
	if o != nil && o.same() == nil {
		return o, nil // another call has opened it
	}
	if o != nil {
		if err := o.leave(ctx); err != nil {
			return nil, err
		}
		d.current.Store(nil)
	}
	o, err := open(ctx, d.path, d.namespace)
	if err == nil {
		d.current.Store(o)
	}
	return o, err
}

// Kept implements [sqlstore.Dialect]. What a connection has read or committed is in the file at the path,
// or nobody else may ever see it.
func (d *dialect) Kept(conn *sql.Conn) error {
	return conn.Raw(func(driverConn any) error {
		l, ok := driverConn.(*link)
		if !ok {
			return kv.ErrUnavailable
		}
		return l.kept()
	})
}

// close closes all connections. No call may follow.
func (d *dialect) close() {
	if o := d.current.Load(); o != nil {
		_ = o.close()
	}
}
