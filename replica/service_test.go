package replica

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/logtest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica/settings"
)

// A store belongs to the service that was named first: a replica that names another, or none,
// is refused before it publishes or claims anything, or says that it is ready. An operator renames it.
func TestStoreBelongsToAService(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]func(t *testing.T) Config{
		"nodes": func(t *testing.T) Config {
			minis := redistest.MiniN(t, 3)
			return Config{Redis: settings.Redis{Nodes: settings.Nodes(minis.URLs()...)}, Dial: minis.Dial, Embedded: true}
		},
		"one store": func(t *testing.T) Config {
			return Config{Store: declaredNew(t)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				base := on(t)
				var ran ranTicks
				var log *logtest.Buffer
				serve := func(id, service string) (*Replica, error) {
					cfg := base
					log = new(logtest.Buffer)
					cfg.Replica.ID, cfg.Service, cfg.Namespace, cfg.Logger = id, service, "shared", logTo(io.MultiWriter(log, t.Output()))
					cfg.Jobs = []jobs.Job{{Name: id, Spec: "@every 1s", Handler: ran.run}}
					r, err := New(cfg)
					if err != nil {
						t.Fatal(err)
					}
					ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
					defer stop()
					return r, r.Run(ctx)
				}
				belongs := func(id, service, kept string) {
					t.Helper()
					_, err := serve(id, service)
					other, _ := errors.AsType[*OtherServiceError](err)
					switch {
					case kept == "" && err != nil:
						t.Errorf("replica %s of service %q: %v", id, service, err)
					case kept != "" && (other == nil || *other != OtherServiceError{Namespace: "shared", Kept: kept, Own: service}):
						t.Errorf("replica %s of service %q: %v, want that it belongs to %q", id, service, err, kept)
					}
					if said := strings.Contains(log.String(), "msg=ready"); said != (kept == "" && name == "one store") { // new nodes have a grace
						t.Errorf("replica %s of service %q has said that it is ready: %v", id, service, said)
					}
				}
				belongs("unnamed", "", "")
				belongs("shop", "shop", "")
				belongs("shop", "shop", "")
				belongs("billing", "billing", "shop")
				belongs("anybody", "", "shop")
				reader, err := New(Config{Replica: settings.Replica{ID: "reader"}, Namespace: "shared", Redis: base.Redis, Dial: base.Dial, Embedded: base.Embedded, Store: base.Store, Logger: logTo(t.Output()), Jobs: []jobs.Job{{Name: "j", Spec: "@every 1s", Handler: ran.run}}})
				if err != nil {
					t.Fatal(err)
				}
				if err := reader.store.Join(t.Context()); err != nil {
					t.Fatal(err)
				}
				published, err := view.ControlOf(reader.store).Jobs(t.Context(), view.JobQuery{})
				if err != nil || len(published.Items) != 2 {
					t.Errorf("published are %+v, %v; want those of the first service alone", published, err)
				}
				if kept, err := reader.store.Service(t.Context(), "billing", true); kept != "billing" || err != nil {
					t.Errorf("renamed to %q, %v", kept, err)
				}
				found := false
				checked, err := view.ControlOf(reader.store).Check(t.Context())
				if err != nil {
					t.Error(err)
				}
				for _, row := range checked.Rows {
					for _, f := range row.Findings {
						found = found || f == view.ServiceFinding("billing")
					}
				}
				if !found {
					t.Error("a check does not name the service")
				}
				belongs("billing", "billing", "")
				belongs("shop", "shop", "billing")
				if err := reader.store.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Two live replicas with one id warn each other, and are listed as two. If one stops, the other
// stays listed, and its jobs live. One that is started again under its id is one.
func TestTwoReplicasWithOneID(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := declaredNew(t)
		var ran ranTicks
		logs := [2]logtest.Buffer{}
		serve := func(log *logtest.Buffer) (*Replica, func() error) {
			r, err := New(Config{Replica: settings.Replica{ID: "web"}, Store: m, Logger: logTo(log), Jobs: []jobs.Job{{Name: "j", Spec: "@every 10s", Handler: ran.run}}})
			if err != nil {
				t.Fatal(err)
			}
			return r, start(t.Context(), r)
		}
		const warning = view.TwinsText
		first, stopFirst := serve(&logs[0])
		time.Sleep(10 * time.Second)
		_, stopSecond := serve(&logs[1])
		time.Sleep(time.Minute)
		rows, err := view.ControlOf(first.store).Replicas(t.Context())
		if err != nil || len(rows) != 2 || !rows[0].Shared || !rows[1].Shared {
			t.Errorf("listed are %+v, %v; want two that share their id", rows, err)
		}
		for i := range logs {
			if n := strings.Count(logs[i].String(), `level=WARN msg="`+warning); n != 1 {
				t.Errorf("replica %d warned %d times:\n%s", i, n, logs[i].String())
			}
		}
		if n := strings.Count(checksOf(t, first), warning+": web (process "); n != 1 {
			t.Errorf("a check says %d times that there are two:\n%s", n, checksOf(t, first))
		}
		if err := stopSecond(); err != nil {
			t.Error(err)
		}
		time.Sleep(20 * time.Second)
		rows, err = view.ControlOf(first.store).Replicas(t.Context())
		served, err2 := view.ControlOf(first.store).Jobs(t.Context(), view.JobQuery{})
		list := served.Items
		if err != nil || len(rows) != 1 || rows[0].Shared || err2 != nil || len(list) != 1 || !list[0].Live {
			t.Errorf("after one has stopped, listed are %+v, %v, and the jobs %+v, %v", rows, err, list, err2)
		}
		if err := stopFirst(); err != nil {
			t.Error(err)
		}
	})
}

// checksOf is what a check says.
func checksOf(t *testing.T, r *Replica) string {
	t.Helper()
	var texts []string
	checked, err := view.ControlOf(r.store).Check(t.Context())
	if err != nil {
		t.Error(err)
	}
	for _, row := range checked.Rows {
		for _, f := range row.Findings {
			texts = append(texts, f.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Without a name of the service, replicas warn of those that serve other functions under the names
// of their own, once no roll-out explains it, and so do checks and the list of replicas.
func TestTwoServicesInOneNamespace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := declaredNew(t)
		var shop, billing ranTicks
		logs := [2]logtest.Buffer{}
		var one *Replica
		for i, fn := range []func(context.Context, jobs.Run) error{shop.run, func(ctx context.Context, run jobs.Run) error { return billing.run(ctx, run) }} {
			r, err := New(Config{Replica: settings.Replica{ID: []string{"shop", "billing"}[i]}, Store: m, Logger: logTo(&logs[i]), Jobs: []jobs.Job{{Name: "invoices", Spec: "@every 10s", Handler: fn}}})
			if err != nil {
				t.Fatal(err)
			}
			defer start(t.Context(), r)()
			one = r
		}
		const warning = view.StrangersText
		time.Sleep(time.Minute)
		for i := range logs {
			if strings.Contains(logs[i].String(), warning) {
				t.Errorf("replica %d warns although a roll-out may be under way:\n%s", i, logs[i].String())
			}
		}
		if text := checksOf(t, one); strings.Contains(text, warning) {
			t.Errorf("a check warns although a roll-out may be under way:\n%s", text)
		}
		time.Sleep(10 * time.Minute)
		for i := range logs {
			if n := strings.Count(logs[i].String(), `level=WARN msg="`+warning); n != 1 || !strings.Contains(logs[i].String(), "invoices") {
				t.Errorf("replica %d warned %d times:\n%s", i, n, logs[i].String())
			}
		}
		rows, err := view.ControlOf(one.store).Replicas(t.Context())
		if err != nil || len(rows) != 2 || !slices.Equal(rows[0].Strangers, []string{"invoices"}) || !slices.Equal(rows[1].Strangers, []string{"invoices"}) {
			t.Errorf("listed are %+v, %v; want that both serve other invoices", rows, err)
		}
		if text := checksOf(t, one); !strings.Contains(text, warning+": billing (process ") || !strings.Contains(text, "serve invoices") {
			t.Errorf("a check says\n%s", text)
		}
	})
}
