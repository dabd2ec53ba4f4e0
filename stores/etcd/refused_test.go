package etcd

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorate/quorate/dev/testkit/storetest"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/stores/etcd/internal/etcdtest"
)

// While users are added every 0.4 s, and while the role lacks its permission for 1.5 s, no run
// repeats, and each has succeeded.
func TestRefusedEndOnEtcd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flags []string
		users bool // are added all the time, and one more at each end
	}{
		"simple, users": {users: true}, "jwt, users": {flags: etcdtest.JWT(t, time.Hour), users: true}, "permission": {},
	} {
		if testing.Short() && name == "simple, users" {
			continue // a login mends it before the end has to be repeated
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := guard(t, etcdtest.Start(t, 1, append(c.flags, "--bcrypt-cost", "4")...), true)
			var changing sync.Mutex // a change ends root's token, too
			change := func(tb testing.TB, do func(context.Context, *clientv3.Client) error) {
				tb.Helper()
				changing.Lock()
				defer changing.Unlock()
				r, err := g.open.Authenticate(t.Context(), "root", passwords)
				if err == nil {
					err = do(token{text: r.Token}.in(t.Context()), g.open)
				}
				if err != nil && t.Context().Err() == nil {
					tb.Error(err)
				}
			}
			var count atomic.Int64
			addUser := func(tb testing.TB) {
				tb.Helper()
				change(tb, func(ctx context.Context, c *clientv3.Client) error {
					_, err := c.UserAdd(ctx, fmt.Sprint("user ", count.Add(1)), "else")
					return err
				})
			}
			if c.users {
				var adding sync.WaitGroup
				t.Cleanup(adding.Wait)
				adding.Go(func() {
					for every := time.NewTicker(400 * time.Millisecond); ; {
						select {
						case <-every.C:
							addUser(t)
						case <-t.Context().Done():
							every.Stop()
							return
						}
					}
				})
			}
			storetest.RefusedEnds(t, func(t *testing.T) storetest.Refusing {
				t.Helper()
				namespace := fmt.Sprint("n", count.Add(1))
				prefix := "quorate/" + namespace + "/"
				end := clientv3.GetPrefixRangeEnd(prefix)
				r := storetest.Refusing{
					Open:   func(tb testing.TB) kv.Server { tb.Helper(); return g.as(t, namespace, "quorate", passwords) },
					Refuse: addUser,
				}
				grant := func(tb testing.TB) {
					tb.Helper()
					change(tb, func(ctx context.Context, c *clientv3.Client) error {
						_, err := c.RoleGrantPermission(ctx, "quorate", prefix, end, clientv3.PermissionType(clientv3.PermReadWrite))
						return err
					})
				}
				if !c.users {
					r.Restore, r.Refuse = grant, func(tb testing.TB) {
						tb.Helper()
						change(tb, func(ctx context.Context, c *clientv3.Client) error {
							_, err := c.RoleRevokePermission(ctx, "quorate", prefix, end)
							return err
						})
					}
				}
				grant(t)
				if err := claims.DeclareNew(t.Context(), r.Open(t)); err != nil {
					t.Fatal(err)
				}
				return r
			})
		})
	}
}
