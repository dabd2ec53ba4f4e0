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
)

var (
	// ErrNoClaim is what Finish returns if the database of the transaction does not know the
	// run, and no other claim has excluded it: the database is not that of Quorate's store, or the
	// job was forgotten, or a failover has lost the claim, which the next extension adds again.
	ErrNoClaim = finishtx.ErrNoClaim
	// ErrEnded is what Finish returns if the run has ended already: an earlier transaction
	// with Finish has committed.
	ErrEnded = finishtx.ErrEnded
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
	return finishtx.Do(ctx, run, func(end finishtx.End) error {
		followers, _ := plainjson.Marshal(append([]string{}, end.Followers...)) // texts always encode
		_, err := exec(ctx, "SELECT "+end.Schema+".finish_run($1::text, $2::bigint, $3::text, $4::text::json, $5::text::json)",
			end.Job, int64(end.Token), end.Owner, string(end.Note), string(followers))
		return meaning(err)
	})
}

// seen finds the token in the refusal of finish_run.
var seen = regexp.MustCompile(`has seen ([0-9]+)`)

// meaning is what an error of finish_run says.
func meaning(err error) error {
	var coded interface{ SQLState() string }
	if !errors.As(err, &coded) {
		return err
	}
	switch coded.SQLState() {
	case "QF001":
		var other finishtx.Excluded
		if found := seen.FindStringSubmatch(err.Error()); found != nil {
			other.Seen, _ = strconv.ParseUint(found[1], 10, 64) // digits
		}
		return other
	case "QF002":
		return fmt.Errorf("%w: %w", ErrNoClaim, err)
	case "QF003":
		return fmt.Errorf("%w: %w", ErrEnded, err)
	case "3F000", "42883", "42501": // no such schema or function, no right
		return fmt.Errorf("%w: is the transaction in the database of Quorate's store? If it is, run `quorate store migrate`, and grant the role EXECUTE of finish_run", err)
	}
	return err
}
