package sqlfence

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/internal/plainjson"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
)

var (
	// ErrNoClaim is what Finish returns if the database of the transaction does not know the
	// run, and no other claim has excluded it: the database is not that of Quorate's store, or the
	// job was forgotten, or a failover has lost the claim, which the next extension adds again.
	ErrNoClaim = errors.New("the database has no claim of this run")
	// ErrEnded is what Finish returns if the run has ended already: an earlier transaction
	// with Finish has committed.
	ErrEnded = errors.New("the run has ended already")
)

// Finish ends the run as succeeded if the transaction commits: the effects of the transaction and
// the outcome of the run come together or not at all. Call it last, right before the commit:
// until the transaction ends, other replicas wait for the claim of the job.
//
// Quorate's store has to be in the database of the transaction. The transaction is given by its
// method exec: ExecContext of a sql.Tx, or Exec of a pgx.Tx. Ctx comes from the context of the
// function's call, which knows the schema of the store.
//
// The error is a *fence.StaleError if another claim excludes the run; [ErrNoClaim]; [ErrEnded]; or
// that of the database, for example a serialization failure, after which the transaction may be
// repeated. After any error, roll back.
//
// Once the transaction has committed, the run has succeeded, whatever the function returns. If the
// outcome of the commit is unknown, return its error: the replica finds out, and calls the function
// again only if the transaction was rolled back.
func Finish[Result any](
	ctx context.Context, exec func(ctx context.Context, statement string, args ...any) (Result, error),
	run jobs.Run,
) error {
	prepare := finishtx.From(ctx)
	if prepare == nil {
		return errors.New("finishing a run: the context is not that of a run: use the one that the function was called with")
	}
	end, err := prepare()
	if err != nil {
		return fmt.Errorf("finishing a run: %w", err)
	}
	if resource, token := run.Fence(); resource != end.Job || uint64(token) != end.Token {
		return fmt.Errorf("finishing a run: token %d of %s is not that of the context: pass the run that the function was called with", token, resource)
	}
	followers, _ := plainjson.Marshal(append([]string{}, end.Followers...)) // texts always encode
	_, err = exec(ctx, "SELECT "+end.Schema+".finish_run($1::text, $2::bigint, $3::text, $4::text::json, $5::text::json)",
		end.Job, int64(end.Token), end.Owner, string(end.Note), string(followers))
	return refusal(ctx, end, err)
}

// seen finds the token in the refusal of finish_run.
var seen = regexp.MustCompile(`has seen ([0-9]+)`)

// refusal is the error for callers.
func refusal(ctx context.Context, end finishtx.End, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("finishing the run of %s with token %d: %w", end.Job, end.Token, err)
	var coded interface{ SQLState() string }
	if !errors.As(err, &coded) {
		return err
	}
	switch coded.SQLState() {
	case "QF001":
		var token uint64
		if found := seen.FindStringSubmatch(err.Error()); found != nil {
			token, _ = strconv.ParseUint(found[1], 10, 64) // digits
		}
		return stale(ctx, end, token)
	case "QF002":
		return noClaim(ctx, end, err)
	case "QF003":
		return fmt.Errorf("%w: %w", ErrEnded, err)
	case "3F000", "42883", "42501": // no such schema or function, no right
		return fmt.Errorf("%w: is the transaction in the database of Quorate's store? If it is, run `quorate store migrate`, and grant the role EXECUTE of finish_run", err)
	}
	return err
}

func stale(ctx context.Context, end finishtx.End, seen uint64) error {
	return fence.Refused(ctx, &fence.StaleError{Resource: end.Job, Token: locking.Token(end.Token), Seen: locking.Token(seen)})
}

// noClaim is the error for a claim that the database of the transaction does not have. The store
// of the replica tells why.
func noClaim(ctx context.Context, end finishtx.End, err error) error {
	has, seen, failed := end.Look(ctx)
	switch {
	case failed != nil:
		return fmt.Errorf("%w, and Quorate's store could not be asked why (%w): %w", ErrNoClaim, failed, err)
	case has:
		return fmt.Errorf("%w, and Quorate's store has it: begin the transaction in the database of the store, after the run has begun: %w", ErrNoClaim, err)
	case seen > 0:
		return stale(ctx, end, seen)
	}
	return fmt.Errorf("%w, and neither has Quorate's store: the job was forgotten, or a failover has lost the claim: %w", ErrNoClaim, err)
}
