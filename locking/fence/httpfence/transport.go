package httpfence

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/quorate/quorate/locking/fence"
)

// A Transport sends the token of the bearer in a request's context along, and
// tells the context's observer when the sink refuses it. Requests without a
// bearer pass as they are.
type Transport struct {
	// Base makes the requests. Default: http.DefaultTransport.
	Base http.RoundTripper
}

// RoundTrip sends the request. A refusal is returned as the answer that it is,
// since a RoundTripper may not turn answers into errors: StaleFrom reads it. It
// returns an error that is fence.ErrNoToken, without a request, if the bearer
// has no usable token.
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	b, ok := BearerFrom(req.Context())
	if !ok {
		return base.RoundTrip(req)
	}
	resource, token, err := fence.Of(b)
	if err != nil {
		closeBody(req) // whatever a RoundTripper returns, it closes the body
		return nil, err
	}
	sent := req.Clone(req.Context()) // a RoundTripper must not change the request it is given
	sent.Header.Set(fence.HeaderToken, strconv.FormatUint(uint64(token), 10))
	sent.Header.Set(fence.HeaderResource, url.PathEscape(resource))
	resp, err := base.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	if stale := staleFrom(b, resp); stale != nil {
		_ = fence.Refused(req.Context(), stale)
	}
	return resp, nil
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close() // nothing was sent
	}
}

// keptBody is how much of an answer is looked at for a refusal.
const keptBody = 16 << 10

// StaleFrom returns the refusal that resp, an answer to a request with a bearer
// in its context, is, or nil if it is none. The body can be read afterwards as
// before.
func StaleFrom(resp *http.Response) *fence.StaleError {
	if resp.Request == nil {
		return nil
	}
	b, ok := BearerFrom(resp.Request.Context())
	if !ok {
		return nil
	}
	return staleFrom(b, resp)
}

func staleFrom(b fence.Bearer, resp *http.Response) *fence.StaleError {
	if resp.StatusCode != http.StatusPreconditionFailed {
		return nil
	}
	// Whatever cannot be read here cannot be read by the caller either.
	head, err := io.ReadAll(io.LimitReader(resp.Body, keptBody))
	rest := resp.Body
	if err != nil {
		rest = failing{resp.Body, err}
	}
	resp.Body = body{io.MultiReader(bytes.NewReader(head), rest), resp.Body}
	return fence.ParseProblem(b, resp.StatusCode, resp.Header.Get("Content-Type"), head)
}

// body is what was read already and what was not.
type body struct {
	io.Reader
	io.Closer
}

// failing is a body that could not be read.
type failing struct {
	io.Closer
	err error
}

func (f failing) Read([]byte) (int, error) { return 0, f.err }
