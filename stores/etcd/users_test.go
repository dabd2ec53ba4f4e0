package etcd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/stores/etcd/internal/etcdtest"
)

// The role of docs/etcd.md is enough, and what etcd refuses is told without secrets.
func TestUsers(t *testing.T) {
	t.Parallel()
	g, ctx := guard(t, etcdtest.Start(t, 1), true), t.Context()
	s := g.as(t, "billing", "quorate", passwords)
	x := kv.Key{Kind: kv.Claims, Name: "x"}
	_, stamp, err := s.Read(ctx, x)
	if err != nil {
		t.Fatal(err)
	}
	if o, err := s.Commit(ctx, kv.Txn{Incarnation: stamp.Incarnation, Put: []kv.Write{{Key: x, Value: []byte(`1`)}}}); err != nil || !o.Won {
		t.Errorf("Commit = %+v, %v", o, err)
	}
	if _, err := s.Check(ctx); err != nil {
		t.Errorf("Check = %v", err)
	}
	for what, s := range map[string]*server{
		"the user quorate needs the permission readwrite for the prefix quorate/other/": g.as(t, "other", "quorate", passwords),
		"set etcd.username": g.as(t, "billing", "", ""),
	} {
		_, _, err := s.Read(ctx, x)
		if err == nil || errors.Is(err, kv.ErrUnavailable) || !strings.Contains(err.Error(), what) || strings.Contains(err.Error(), "Geheim") {
			t.Errorf("Read = %v, want %q, which is no outage", err, what)
		}
	}
	_, _, err = g.as(t, "billing", "quorate", "Geheim2").Read(ctx, x)
	if !errors.Is(err, kv.ErrLogin) || !strings.Contains(err.Error(), "authentication failed") || strings.Contains(err.Error(), "Geheim") {
		t.Errorf("Read = %v, want %v", err, kv.ErrLogin)
	}
}

// repeated repeats a call until its error is the one that is awaited, for a minute at most, and returns its last error.
// On a busy machine a call may end too early.
func repeated(t *testing.T, call func(ctx context.Context) error, awaited func(error) bool) error {
	t.Helper()
	for until := time.Now().Add(time.Minute); ; {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err := call(ctx)
		cancel()
		if awaited(err) || time.Now().After(until) {
			return err
		}
	}
}

// A member with TLS is reached by those who trust its certificate, and by no others.
func TestTLS(t *testing.T) {
	t.Parallel()
	ca, other := redistest.NewCA(t), redistest.NewCA(t)
	w := etcdtest.StartTLS(t, ca)
	for trusted, want := range map[*redistest.CA]error{ca: nil, other: kv.ErrNotSent} {
		cert, key := trusted.Write(t, t.TempDir())
		s := open(config.Cluster{Namespace: "n", Section: config.SectionEtcd, Etcd: settings.Etcd{Endpoints: w.URLs(), TLS: settings.TLS{CAFile: cert, CertFile: cert, KeyFile: key}}})
		t.Cleanup(s.Close)
		read := func(ctx context.Context) error { _, _, err := s.Read(ctx); return err }
		err := repeated(t, read, func(err error) bool { return err == nil || errors.Is(err, want) })
		if !errors.Is(err, want) {
			t.Errorf("Read = %v, want %v", err, want)
		}
	}
}

// An error says once how the context has ended, whichever call it was.
func TestDeadlineIsToldOnce(t *testing.T) {
	t.Parallel()
	w := etcdtest.StartDivisible(t, 1)
	s := guarded{Cluster: w}.as(t, "n", "", "")
	_, stamp, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.Members[0].Cut(t, false)
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, _, e1 := s.Read(ctx)
		e2 := put(ctx, s, stamp.Incarnation, "x")
		cancel()
		ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
		e3 := put(ctx, s, stamp.Incarnation, "x")
		cancel()
		for _, err := range []error{e1, e2, e3} {
			if text := err.Error(); !errors.Is(err, context.DeadlineExceeded) || strings.Count(text, "context deadline exceeded") != 1 || strings.Count(text, "the store does not answer") != 1 || strings.Contains(text, "\n") {
				t.Errorf("%v", err)
			}
		}
	}
}
