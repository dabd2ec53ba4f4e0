package httpjob_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/httpjob"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path, "token", r.Header.Get("Fencing-Token"), "key", r.Header.Get("Idempotency-Key"))
	}))
	defer server.Close()

	registry := jobs.NewRegistry()
	httpjob.Register(registry)
	handler, err := registry.Bind("http", map[string]any{"url": server.URL + "/reports"}, jobs.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = handler(context.Background(), jobs.Run{
		ID: "nightly@20261201T020000.000Z", Job: "nightly", Tick: time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC), Token: 42,
	})
	fmt.Println(err)
	// Output:
	// POST /reports token 42 key nightly@20261201T020000.000Z
	// <nil>
}
