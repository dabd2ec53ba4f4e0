package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/quorate/quorate/jobs"
)

// Billing makes jobs of the table's rows: it is the scheduler.Source.
type billing struct {
	customers *table
	out       io.Writer
	sent      chan struct{} // an element for each invoice
}

// Jobs returns a job per customer. It returns an error if it did not see all of
// them: a customer that is missing is removed.
func (b *billing) Jobs(ctx context.Context) ([]jobs.Job, error) {
	rows, err := b.customers.all(ctx)
	if err != nil {
		return nil, err
	}
	var list []jobs.Job
	for customer, spec := range rows {
		list = append(list, jobs.Job{
			Name: "invoice-" + customer, Spec: spec, Func: "invoice", Timeout: time.Minute,
			Handler: func(_ context.Context, run jobs.Run) error { return b.invoice(customer, run) },
		})
	}
	return list, nil
}

// invoice is what a job does.
func (b *billing) invoice(customer string, run jobs.Run) error {
	fmt.Fprintf(b.out, "    %s: invoice for %s\n", jobs.FormatTick(run.Tick), customer)
	b.sent <- struct{}{}
	return nil
}

func (b *billing) failed(err error) {
	if err != nil {
		fmt.Fprintln(b.out, "   ", err)
	}
}

// wait lets so many invoices go out.
func (b *billing) wait(ctx context.Context, n int) bool {
	for range n {
		select {
		case <-b.sent:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
