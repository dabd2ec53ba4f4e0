package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/jobs"
)

// ReportParams are what a configuration says about a report.
type ReportParams struct {
	Customer string        `json:"customer"`
	Since    time.Duration `json:"since"`
}

func (p *ReportParams) SetDefaults() { p.Since = 24 * time.Hour }

func (p *ReportParams) Validate() error {
	if p.Customer == "" {
		return &jobs.ParamError{Path: []string{"customer"}, Msg: "is missing: write a name, or all"}
	}
	return nil
}

func report(_ context.Context, run jobs.Run, p ReportParams) error {
	fmt.Printf("%s: customer %s since %v, token %d\n", run.ID, p.Customer, p.Since, run.Token)
	return nil
}

func ExampleRegister() {
	registry := jobs.NewRegistry()
	jobs.Register(registry, "report", report)

	handler, err := registry.Bind("report", map[string]any{"customer": "all"}, jobs.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	run := jobs.Run{ID: "nightly@20261201T020000.000Z", Job: "nightly", Token: 42}
	fmt.Println(jobs.Call(context.Background(), handler, run))
	// Output:
	// nightly@20261201T020000.000Z: customer all since 24h0m0s, token 42
	// <nil>
}

func ExampleRegistry_Bind_mistakes() {
	registry := jobs.NewRegistry()
	jobs.Register(registry, "report", report)

	_, err := registry.Bind("report", map[string]any{"costumer": "all", "since": 24}, jobs.Limits{})
	fmt.Println(err)
	_, err = registry.Bind("rapport", nil, jobs.Limits{})
	fmt.Println(errors.Is(err, jobs.ErrUnknownFunc), err)
	// Output:
	// costumer: unknown key: did you mean "customer"? (known: customer, since)
	// since: is a whole number: want a duration with its unit, such as 30s
	// customer: is missing: write a name, or all
	// true unknown function "rapport": did you mean "report"? (known: report)
}

func ExampleRegistry_Use() {
	around := func(name string) jobs.Middleware {
		return func(next jobs.Handler) jobs.Handler {
			return func(ctx context.Context, run jobs.Run) error {
				fmt.Println(name, "begins", run.Job)
				err := next(ctx, run)
				fmt.Println(name, "ends:", err)
				return err
			}
		}
	}
	registry := jobs.NewRegistry()
	registry.Use(around("tracing"), around("metrics"))
	jobs.Register(registry, "report", report, around("quota"))

	handler, err := registry.Bind("report", map[string]any{"customer": "all"}, jobs.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = jobs.Call(context.Background(), handler, jobs.Run{ID: "nightly@20261201T020000.000Z", Job: "nightly", Token: 42})
	// Output:
	// tracing begins nightly
	// metrics begins nightly
	// quota begins nightly
	// nightly@20261201T020000.000Z: customer all since 24h0m0s, token 42
	// quota ends: <nil>
	// metrics ends: <nil>
	// tracing ends: <nil>
}

func ExampleSkip() {
	err := jobs.Skip("no new orders")
	skip, ok := errors.AsType[*jobs.SkipError](err)
	fmt.Println(ok, skip.Reason)
	// Output: true no new orders
}
