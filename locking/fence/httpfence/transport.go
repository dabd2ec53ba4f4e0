package httpfence

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/quorate/quorate/locking/fence"
)

// A Transport adds the token of the bearer in a request's context, and calls the
// context's observer when the sink refuses it. Requests without a bearer pass
// unchanged.
type Transport struct {
	// Base makes the requests. Default: http.DefaultTransport.
	Base http.RoundTripper
}

// RoundTrip sends the request. It returns a refusal as a response, since a RoundTripper
// must not turn responses into errors; StaleFrom reads it. If the bearer has no usable
// token, it sends nothing and returns an error that is fence.ErrNoToken.
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
		closeBody(req) // a RoundTripper always closes the body
		return nil, err
	}
	sent := req.Clone(req.Context()) // a RoundTripper must not change its request
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

// maxProblem bounds the part of a body that is read for a refusal.
const maxProblem = 16 << 10

// StaleFrom returns the refusal in resp, or nil if there is none. The request must have
// a bearer in its context. The body can still be read afterwards.
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
	// The caller gets the same read error from the body.
	head, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	rest := resp.Body
	if err != nil {
		rest = failing{resp.Body, err}
	}
	resp.Body = body{io.MultiReader(bytes.NewReader(head), rest), resp.Body}
	return fence.ParseProblem(b, resp.StatusCode, resp.Header.Get("Content-Type"), head)
}

// body joins what was read already and the rest.
type body struct {
	io.Reader
	io.Closer
}

// failing is a body that failed to read.
type failing struct {
	io.Closer
	err error
}

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type bearerKey struct{}

// WithBearer returns a context whose requests a Transport sends with b's token.
func WithBearer(ctx context.Context, b fence.Bearer) context.Context {
	return context.WithValue(ctx, bearerKey{}, b)
}

// BearerFrom returns the bearer in ctx: from WithBearer, or behind a Middleware the one
// in the request.
func BearerFrom(ctx context.Context) (b fence.Bearer, ok bool) {
	b, ok = ctx.Value(bearerKey{}).(fence.Bearer)
	return b, ok
}
