package replica

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/internal/onestore/claims"
	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/internal/store/storetest"
)

// A store belongs to the service that was named first: a replica that names another, or none,
// is refused before it publishes or claims anything. An operator renames it.
func TestStoreBelongsToAService(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]func(t *testing.T) Config{
		"nodes": func(t *testing.T) Config {
			minis := redistest.MiniN(t, 3)
			return Config{Redis: Redis{Nodes: minis.URLs(), Dial: minis.Dial, Embedded: true}}
		},
		"one store": func(t *testing.T) Config {
			m := new(storetest.Memory)
			if err := claims.DeclareNew(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			return Config{Store: inMemory{m}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				base := on(t)
				var ran ranTicks
				serve := func(id, service string) (*Replica, error) {
					cfg := base
					cfg.ID, cfg.Service, cfg.Namespace, cfg.Logger = id, service, "shared", logTo(t.Output())
					cfg.Jobs = []Job{{Name: id, Schedule: "@every 1s", Func: ran.run}}
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
				}
				belongs("unnamed", "", "")
				belongs("shop", "shop", "")
				belongs("shop", "shop", "")
				belongs("billing", "billing", "shop")
				belongs("anybody", "", "shop")
				reader, err := New(Config{ID: "reader", Namespace: "shared", Redis: base.Redis, Store: base.Store, Logger: logTo(t.Output()), Jobs: []Job{{Name: "j", Schedule: "@every 1s", Func: ran.run}}})
				if err != nil {
					t.Fatal(err)
				}
				if err := reader.backend.join(t.Context()); err != nil {
					t.Fatal(err)
				}
				rows, err := reader.backend.Control().Jobs(t.Context())
				if err != nil || len(rows) != 2 {
					t.Errorf("published are %+v, %v; want those of the first service alone", rows, err)
				}
				if kept, err := reader.backend.Service(t.Context(), "billing", true); kept != "billing" || err != nil {
					t.Errorf("renamed to %q, %v", kept, err)
				}
				found := false
				for _, row := range reader.backend.Checks(t.Context()) {
					for _, f := range row.Findings {
						found = found || f == listing.ServiceFinding("billing")[0]
					}
				}
				if !found {
					t.Error("a check does not name the service")
				}
				belongs("billing", "billing", "")
				belongs("shop", "shop", "billing")
				if err := reader.close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
