package httpfence

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
)

// A Middleware refuses requests with stale tokens before they reach a handler.
// Wrap all routes that write to the same resources with one Middleware, or give
// several of them the same [fence.Gate] as Guard. It must not be copied after the
// first Wrap.
type Middleware struct {
	// Guard remembers what was seen. Nil: the handler checks, inside its write,
	// and the Middleware only puts the bearer into the request's context.
	Guard fence.Guard
	// Optional lets requests without a token pass, unguarded. Default: they are
	// refused with 428.
	Optional bool
	// Resource says which resource a request writes to. Default: what its header
	// Fencing-Resource says. Set it where the path decides, so that a writer
	// cannot pass a guard by naming another resource.
	Resource func(*http.Request) string

	once sync.Once
	gate *fence.Gate // before the Guard, for all routes
}

// Wrap returns a handler that calls next for requests that are admitted, one at
// a time per resource, whichever handlers of the Middleware they are for.
func (m *Middleware) Wrap(next http.Handler) http.Handler {
	m.once.Do(func() { m.gate = fence.NewGate(m.Guard) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := m.bearer(r)
		switch {
		case errors.Is(err, errNoHeader) && m.Optional:
			next.ServeHTTP(w, r)
			return
		case errors.Is(err, errNoHeader):
			refuse(w, http.StatusPreconditionRequired, err)
			return
		case err != nil:
			refuse(w, http.StatusBadRequest, err)
			return
		}
		r = r.WithContext(WithBearer(r.Context(), b))
		if m.Guard == nil {
			next.ServeHTTP(w, r)
			return
		}
		admitted := false
		err = m.gate.Do(r.Context(), b, func() error {
			admitted = true
			next.ServeHTTP(w, r)
			return nil
		})
		if !admitted && !Refuse(w, err) {
			refuse(w, http.StatusServiceUnavailable, errNoVerdict)
		}
	})
}

var (
	errNoHeader = errors.New("this request needs a " + fence.HeaderToken)
	// errNoVerdict stands for what a guard said that is not for clients: a
	// database's words, say.
	errNoVerdict = errors.New("the fencing token could not be checked, so nothing was done: try again")
)

// received is the bearer that a request names.
type received struct {
	resource string
	token    locking.Token
}

func (r received) Fence() (string, locking.Token) { return r.resource, r.token }

// bearer reads the headers.
func (m *Middleware) bearer(r *http.Request) (fence.Bearer, error) {
	text := r.Header.Get(fence.HeaderToken)
	if text == "" {
		return nil, errNoHeader
	}
	token, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return nil, errors.New(fence.HeaderToken + " is no number: send it in decimal")
	}
	resource, err := m.resource(r)
	if err != nil {
		return nil, errors.New(fence.HeaderResource + " is not percent-encoded")
	}
	b := received{resource: resource, token: locking.Token(token)}
	_, _, err = fence.Of(b)
	return b, err
}

func (m *Middleware) resource(r *http.Request) (string, error) {
	if m.Resource != nil {
		return m.Resource(r), nil
	}
	return url.PathUnescape(r.Header.Get(fence.HeaderResource))
}
