package fence

import (
	"errors"
	"fmt"

	"github.com/quorate/quorate/locking"
)

// A Bearer has a fencing token for a resource. A jobs.Run has one for its job,
// a locking.Claim for the name of its lock.
type Bearer interface {
	Fence() (resource string, token locking.Token)
}

// For returns a bearer of b's token for another resource: a table, a bucket, an
// account. A resource must be written to by the bearers of one job or lock
// only, since tokens of different ones have no order.
func For(resource string, b Bearer) Bearer { return bearerFor{resource: resource, Bearer: b} }

type bearerFor struct {
	Bearer
	resource string
}

func (f bearerFor) Fence() (string, locking.Token) {
	_, token := f.Bearer.Fence()
	return f.resource, token
}

const (
	// MaxToken is the largest token there can be: JSON and Lua keep all the
	// digits of whole numbers up to here.
	MaxToken locking.Token = 1<<53 - 1
	// MaxResource is the longest name of a resource, in bytes.
	MaxResource = 255
)

// ErrNoToken is what guards return for a bearer that cannot be judged: without
// a token, with one beyond MaxToken, or without a proper resource.
var ErrNoToken = errors.New("no usable fencing token")

// Of returns what b bears, or an error that is ErrNoToken. Guards call it
// before they look at what they have seen: a token that is none must not be
// compared, and one that is too large would close the resource for ever.
func Of(b Bearer) (resource string, token locking.Token, err error) {
	if b == nil {
		return "", 0, fmt.Errorf("%w: there is no bearer: pass the run, or the claim of the lease", ErrNoToken)
	}
	resource, token = b.Fence()
	switch {
	case resource == "" || len(resource) > MaxResource:
		err = fmt.Errorf("%w: a resource of %d bytes: name it with 1 to %d", ErrNoToken, len(resource), MaxResource)
	case token == 0:
		err = fmt.Errorf("%w for %s: it is 0: pass the run, or the claim of the lease", ErrNoToken, resource)
	case token > MaxToken:
		err = fmt.Errorf("%w for %s: %d is above %d", ErrNoToken, resource, token, MaxToken)
	}
	return resource, token, err
}
