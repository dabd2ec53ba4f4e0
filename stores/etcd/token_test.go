package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/stores/etcd/internal/etcdtest"
)

// A guarded cluster has users: root, and quorate with the role of docs/etcd.md.
type guarded struct {
	*etcdtest.Cluster
	open *clientv3.Client // without a user
}

const passwords = "Geheim1"

// guard makes the users. With enable, etcd asks for them from now on.
func guard(t *testing.T, c *etcdtest.Cluster, enable bool) guarded {
	t.Helper()
	g := guarded{c, c.Client(t)}
	ctx, prefix := t.Context(), "quorate/billing/"
	_, e1 := g.open.RoleAdd(ctx, "root")
	_, e2 := g.open.UserAdd(ctx, "root", passwords)
	_, e3 := g.open.UserGrantRole(ctx, "root", "root")
	_, e4 := g.open.RoleAdd(ctx, "quorate")
	_, e5 := g.open.RoleGrantPermission(ctx, "quorate", prefix, clientv3.GetPrefixRangeEnd(prefix), clientv3.PermissionType(clientv3.PermReadWrite))
	_, e6 := g.open.UserAdd(ctx, "quorate", passwords)
	_, e7 := g.open.UserGrantRole(ctx, "quorate", "quorate")
	if err := errors.Join(e1, e2, e3, e4, e5, e6, e7); err != nil {
		t.Fatal(err)
	}
	if enable {
		g.enable(t)
	}
	return g
}

func (g guarded) enable(t *testing.T) {
	t.Helper()
	if _, err := g.open.AuthEnable(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// as returns the store of a user.
func (g guarded) as(t *testing.T, namespace, username, password string) *server {
	t.Helper()
	s := open(config.Cluster{Namespace: namespace, Section: config.SectionEtcd, Etcd: settings.Etcd{Endpoints: g.URLs(), Username: settings.Secret(username), Password: settings.Secret(password)}})
	t.Cleanup(s.Close)
	return s
}

// token logs a user in.
func (g guarded) token(t *testing.T, user string) context.Context {
	t.Helper()
	r, err := g.open.Authenticate(t.Context(), user, passwords)
	if err != nil {
		t.Fatal(err)
	}
	return token{text: r.Token}.in(t.Context())
}

// asRoot makes a change of the users.
func (g guarded) asRoot(t *testing.T, change func(context.Context, *clientv3.Client) error) {
	t.Helper()
	if err := change(g.token(t, "root"), g.open); err != nil {
		t.Fatal(err)
	}
}

// outlive waits until tokens have ended that were used before. Each that it tries is unused.
func (g guarded) outlive(t *testing.T) {
	t.Helper()
	var unused []context.Context
	for range 60 {
		unused = append(unused, g.token(t, "quorate"))
	}
	for _, ctx := range unused {
		if _, err := g.open.Get(ctx, "quorate/billing/x"); errors.Is(err, rpctypes.ErrInvalidAuthToken) {
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
	t.Fatal("tokens have not ended after 30 s")
}

// put commits a record that does not exist. It wins only if no other try of it was made.
func put(ctx context.Context, s *server, incarnation, name string) error {
	k := kv.Key{Kind: kv.Claims, Name: name}
	o, err := s.Commit(ctx, kv.Txn{Incarnation: incarnation, If: []kv.Compare{{Key: k}}, Put: []kv.Write{{Key: k, Value: []byte(`1`)}}})
	if err == nil && !o.Won {
		err = errors.New("it has lost")
	}
	return err
}

// Whatever ends a token, the next call logs in again and is answered, be it a read, a commit, a
// check, or many at once.
func TestTokenEnds(t *testing.T) {
	t.Parallel()
	addUser := func(t *testing.T, g guarded) {
		t.Helper()
		g.asRoot(t, func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.UserAdd(ctx, "somebody", "else")
			return err
		})
	}
	for name, c := range map[string]struct {
		flags  []string
		before bool // users are asked for only after the first call
		end    func(t *testing.T, g guarded)
	}{
		"simple, expired":       {flags: []string{"--auth-token-ttl", "1"}, end: func(t *testing.T, g guarded) { t.Helper(); g.outlive(t) }},
		"jwt, expired":          {flags: etcdtest.JWT(t, time.Second), end: func(t *testing.T, g guarded) { t.Helper(); g.outlive(t) }},
		"simple, users changed": {end: addUser},
		"jwt, users changed":    {flags: etcdtest.JWT(t, time.Hour), end: addUser},
		"simple, member restarted": {end: func(t *testing.T, g guarded) {
			t.Helper()
			g.Members[0].Kill(t)
			g.Members[0].Start(t)
			for until := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
				if _, err := g.open.Authenticate(t.Context(), "quorate", passwords); err == nil {
					return
				} else if time.Now().After(until) {
					t.Fatal(err)
				}
			}
		}},
		"simple, password set again": {end: func(t *testing.T, g guarded) {
			t.Helper()
			g.asRoot(t, func(ctx context.Context, c *clientv3.Client) error {
				_, err := c.UserChangePassword(ctx, "quorate", passwords)
				return err
			})
		}},
		"jwt, user made again": {flags: etcdtest.JWT(t, time.Hour), end: func(t *testing.T, g guarded) {
			t.Helper()
			g.asRoot(t, func(ctx context.Context, c *clientv3.Client) error {
				_, err := c.UserDelete(ctx, "quorate")
				return err
			})
			g.asRoot(t, func(ctx context.Context, c *clientv3.Client) error {
				_, err := c.UserAdd(ctx, "quorate", passwords)
				return err
			})
			g.asRoot(t, func(ctx context.Context, c *clientv3.Client) error {
				_, err := c.UserGrantRole(ctx, "quorate", "quorate")
				return err
			})
		}},
		"users asked for from now on": {before: true, end: func(t *testing.T, g guarded) { t.Helper(); g.enable(t) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := guard(t, etcdtest.Start(t, 1, append(c.flags, "--bcrypt-cost", "4")...), !c.before)
			calls := map[string]func(s *server, incarnation string) error{
				"Read": func(s *server, _ string) error {
					_, _, err := s.Read(t.Context(), kv.Key{Kind: kv.Claims, Name: "x"})
					return err
				},
				"Commit": func(s *server, incarnation string) error { return put(t.Context(), s, incarnation, "x") },
				"Check":  func(s *server, _ string) error { _, err := s.Check(t.Context()); return err },
				"many": func(s *server, incarnation string) error {
					var all sync.WaitGroup
					errs := make([]error, 20)
					for i := range errs {
						all.Go(func() { errs[i] = put(t.Context(), s, incarnation, fmt.Sprint("many ", i)) })
					}
					all.Wait()
					return errors.Join(errs...)
				},
			}
			stores, incarnations := map[string]*server{}, map[string]string{}
			for what := range calls {
				s := g.as(t, "billing", "quorate", passwords)
				_, stamp, err := s.Read(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				stores[what], incarnations[what] = s, stamp.Incarnation
			}
			c.end(t, g)
			for what, call := range calls {
				if err := call(stores[what], incarnations[what]); err != nil {
					t.Errorf("%s = %v", what, err)
				}
			}
		})
	}
}

// If the login for a new token is refused, too, the error says so without secrets. Nothing was
// changed, and trying again may help.
func TestTokenCannotBeRenewed(t *testing.T) {
	t.Parallel()
	g := guard(t, etcdtest.Start(t, 1), true)
	s := g.as(t, "billing", "quorate", passwords)
	_, stamp, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	password := func(to string) {
		t.Helper()
		g.asRoot(t, func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.UserChangePassword(ctx, "quorate", to)
			return err
		})
	}
	password("Geheim2")
	err = put(t.Context(), s, stamp.Incarnation, "x")
	if err == nil || kv.Unknown(err) || !strings.Contains(err.Error(), "token") || !strings.Contains(err.Error(), "authentication failed") || strings.Contains(err.Error(), "Geheim") {
		t.Errorf("Commit = %v, want that logging in for a token has failed", err)
	}
	password(passwords)
	if err := put(t.Context(), s, stamp.Incarnation, "x"); err != nil {
		t.Errorf("Commit = %v after the password is right again", err)
	}
}
