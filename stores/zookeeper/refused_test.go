package zookeeper

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/quorate/quorate/dev/testkit/storetest"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/stores/zookeeper/internal/zookeepertest"
)

// While somebody else has the rights to the node that every transaction sets, for 1.5 s, no run
// repeats, and each has succeeded.
func TestRefusedEndOnZooKeeper(t *testing.T) {
	t.Parallel()
	e := zookeepertest.Start(t, 1, zookeepertest.Options{})
	owner := e.Client(t)
	for _, auth := range []string{"quorate:Geheim1", "other:Geheim2"} {
		if err := owner.AddAuth("digest", []byte(auth)); err != nil {
			t.Fatal(err)
		}
	}
	var count atomic.Int64
	storetest.RefusedEnds(t, func(t *testing.T) storetest.Refusing {
		t.Helper()
		c := as(in(e, fmt.Sprint("n", count.Add(1))), "quorate", "Geheim1")
		s := opened(t, c)
		if err := claims.DeclareNew(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		give := func(user, password string) func(testing.TB) {
			return func(tb testing.TB) {
				tb.Helper()
				if _, err := owner.SetACL(s.incarnationPath(), zk.DigestACL(zk.PermAll, user, password), -1); err != nil {
					tb.Error(err)
				}
			}
		}
		return storetest.Refusing{
			Open:   func(tb testing.TB) kv.Server { tb.Helper(); return opened(tb, c) },
			Refuse: give("other", "Geheim2"), Restore: give("quorate", "Geheim1"),
		}
	})
}
