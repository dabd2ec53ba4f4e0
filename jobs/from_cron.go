package jobs

import "context"

// FromCron returns a function that runs a robfig/cron Job, or any other type with a method
// Run, so it registers as it is:
//
//	jobs.Register(registry, "cleanup", jobs.FromCron(cleanup))
//	jobs.Register(registry, "report", jobs.FromCron(cron.FuncJob(report)))
//
// The run succeeds when Run returns. A panic is a failure, and ends neither the replica nor
// other jobs: wrappers such as cron.Recover hide it from the ledger, so leave them out.
//
// Run sees no context, so nothing can stop it. After a timeout, a cancellation or a lost
// lease it continues until it returns, and its job counts as running until then. It gets
// no fencing token either. If that matters, write a function that takes the context and
// the [Run]. A run whose context has ended before the call fails with the cause.
func FromCron(job interface{ Run() }) func(ctx context.Context, run Run, params NoParams) error {
	if job == nil {
		return nil // Register reports it
	}
	return func(ctx context.Context, _ Run, _ NoParams) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		job.Run()
		return nil
	}
}
