package fence

import (
	"errors"
	"fmt"

	"github.com/quorate/quorate/locking"
)

// A Bearer has a fencing token for a resource. For a jobs.Run the resource is its job,
// for a locking.Claim the name of its lock.
type Bearer interface {
	Fence() (resource string, token locking.Token)
}

// For returns a bearer of b's token for another resource, such as a table, a bucket or
// an account. Only bearers of one job or lock may write to a resource, since tokens of
// different ones have no order.
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
	// MaxToken is the largest valid token: the largest integer that JSON and Lua keep
	// exactly.
	MaxToken locking.Token = 1<<53 - 1
	// MaxResource is the longest name of a resource, in bytes.
	MaxResource = 255
)

// ErrNoToken is what guards return for a bearer without a token, with one above
// MaxToken, or without a valid resource.
var ErrNoToken = errors.New("no usable fencing token")

// Of returns b's resource and token, or an error that is ErrNoToken. Guards must call
// it before they compare tokens: a token that is too large would block the resource for
// ever.
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
