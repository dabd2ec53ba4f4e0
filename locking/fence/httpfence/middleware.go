package httpfence

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
)

// A Middleware refuses requests with stale tokens before they reach a handler. Wrap all
// routes that write to the same resources with one Middleware, or give several the same
// [fence.Gate] as Guard. Do not copy it after the first Wrap.
type Middleware struct {
	// Guard remembers tokens. Nil: the Middleware only puts the bearer into the
	// request's context, and the handler checks inside its write.
	Guard fence.Guard
	// Optional lets requests without a token pass unchecked. Default: refuse them with
	// 428.
	Optional bool
	// Resource returns the resource that a request writes to. Default: the header
	// Fencing-Resource. Set it if the path decides, so a writer cannot evade a guard by
	// naming another resource.
	Resource func(*http.Request) string

	once sync.Once
	gate *fence.Gate // in front of the Guard, for all routes
}

// Wrap returns a handler that calls next for admitted requests, one at a time per
// resource across all handlers of the Middleware.
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
			refuse(w, http.StatusServiceUnavailable, errNotChecked)
		}
	})
}

var (
	errNoHeader = errors.New("this request needs a " + fence.HeaderToken)
	// errNotChecked replaces a guard's error, which may hold details that are not for
	// clients.
	errNotChecked = errors.New("the fencing token could not be checked, so nothing was done: try again")
)

// received is the bearer named by a request.
type received struct {
	resource string
	token    locking.Token
}

func (r received) Fence() (string, locking.Token) { return r.resource, r.token }

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

// Refuse answers with 412 and the problem if err is a *fence.StaleError, and tells
// whether it was. A handler that checks inside its write calls it before writing.
func Refuse(w http.ResponseWriter, err error) bool {
	stale, ok := errors.AsType[*fence.StaleError](err)
	if ok {
		write(w, http.StatusPreconditionFailed, stale.Problem())
	}
	return ok
}

// refuse answers that a request could not be checked.
func refuse(w http.ResponseWriter, status int, err error) {
	body, _ := json.Marshal(map[string]any{ // these always encode
		"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": err.Error(),
	})
	write(w, status, body)
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", fence.ProblemMedia)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have gone
}
