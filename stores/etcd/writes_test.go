package etcd

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/stores/etcd/internal/etcdtest"
)

// readyz asks a replica until its answer has the text.
func readyz(t *testing.T, r *replica.Replica, want string) {
	t.Helper()
	var got string
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		addr := r.ProbesAddr()
		if addr == nil {
			continue
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr.String()+"/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			continue
		}
		body, err := io.ReadAll(answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if got = string(body); strings.Contains(got, want) {
			return
		}
	}
	t.Errorf("/readyz says %q after a minute, want %q", got, want)
}

// While the alarm NOSPACE is on, etcd answers and takes no writes: no replica is ready, and the
// check says so. They notice its end.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	w := etcdtest.Start(t, 1)
	alarm := func(action etcdserverpb.AlarmRequest_AlarmAction) {
		t.Helper()
		c := etcdserverpb.NewMaintenanceClient(w.Client(t).ActiveConnection())
		if _, err := c.Alarm(t.Context(), &etcdserverpb.AlarmRequest{Action: action, Alarm: etcdserverpb.AlarmType_NOSPACE}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := replica.New(replica.Config{
		Etcd: settings.Etcd{Endpoints: w.URLs()}, Store: new(Store), Logger: slog.New(slog.DiscardHandler), HTTP: settings.HTTP{ProbesListen: "127.0.0.1:0"},
		Jobs: []jobs.Job{{Name: "j", Spec: "0 0 1 1 *", Handler: func(context.Context, jobs.Run) error { return nil }}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	readyz(t, r, "no tick runs before") // it is new
	cluster := clusterOf(t, guarded{Cluster: w}.as(t, "quorate", "", ""))
	alarm(etcdserverpb.AlarmRequest_ACTIVATE)
	readyz(t, r, "it answers, but takes no writes, so no tick can run: committing: etcd is full")
	if check := view.NewCheckup(cluster.Check(t.Context()), true).Rows[0]; check.State != view.NodeRefusing || !finds(check, "write", "etcd is full") {
		t.Errorf("the check is %+v", check)
	}
	alarm(etcdserverpb.AlarmRequest_DEACTIVATE)
	readyz(t, r, "no tick runs before")
	if check := view.NewCheckup(cluster.Check(t.Context()), true).Rows[0]; finds(check, "write", "") {
		t.Errorf("the check is %+v", check)
	}
}

func clusterOf(t *testing.T, s *server) *single.Cluster {
	t.Helper()
	c, err := single.Open(s, claims.Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func finds(c view.Check, topic, text string) bool {
	for _, f := range c.Findings {
		if f.Topic == topic && strings.Contains(f.Text, text) {
			return true
		}
	}
	return false
}

// A user who may only read is told what is missing.
func TestOnlyReads(t *testing.T) {
	t.Parallel()
	g := guard(t, etcdtest.Start(t, 1), true)
	prefix := "quorate/billing/"
	for _, change := range []func(context.Context, *clientv3.Client) error{
		func(ctx context.Context, c *clientv3.Client) error { _, err := c.RoleAdd(ctx, "reads"); return err },
		func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.RoleGrantPermission(ctx, "reads", prefix, clientv3.GetPrefixRangeEnd(prefix), clientv3.PermissionType(clientv3.PermRead))
			return err
		},
		func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.UserAdd(ctx, "reader", passwords)
			return err
		},
		func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.UserGrantRole(ctx, "reader", "reads")
			return err
		},
	} {
		g.asRoot(t, change)
	}
	if _, _, err := g.as(t, "billing", "quorate", passwords).Read(t.Context()); err != nil { // it begins the incarnation
		t.Fatal(err)
	}
	check := view.NewCheckup(clusterOf(t, g.as(t, "billing", "reader", passwords)).Check(t.Context()), true).Rows[0]
	if check.State != view.NodeRefusing || !finds(check, "write", "the user reader needs the permission readwrite for the prefix "+prefix) {
		t.Errorf("the check is %+v", check)
	}
}
