package sqlfence

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/quorate/quorate/internal/finishing"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
)

var (
	// ErrNoClaim is what Finish returns if the database of the transaction does not know the
	// run: it is not the one of Quorate's store, or the schema is another, or the job was
	// forgotten, or a failover has lost the claim, which the next extension adds again.
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
// method exec: ExecContext of a sql.Tx, or Exec of a pgx.Tx. The schema is that of Quorate's
// tables, by default "quorate". Ctx comes from the context of the function's call.
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
	schema string, run jobs.Run,
) error {
	prepare := finishing.From(ctx)
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
	function := `"` + strings.ReplaceAll(cmp.Or(schema, "quorate"), `"`, `""`) + `".finish_run`
	_, err = exec(ctx, "SELECT "+function+"($1::text, $2::bigint, $3::text::json, $4::text::json)",
		end.Job, int64(end.Token), string(end.Note), requests(end.Followers))
	return refusal(ctx, run, err)
}

// requests are those for the followers, as finish_run takes them.
func requests(followers []finishing.Follower) string {
	list := []map[string]string{}
	for _, f := range followers {
		list = append(list, map[string]string{
			"sub": url.PathEscape(f.ID), "id": f.ID, "job": f.Job, "by": f.By, "reason": f.Reason, "parent": f.Parent,
		})
	}
	text, _ := json.Marshal(list) // texts always encode
	return string(text)
}

// seen finds the token in the refusal of finish_run.
var seen = regexp.MustCompile(`has seen ([0-9]+)`)

// refusal is the error for callers.
func refusal(ctx context.Context, run jobs.Run, err error) error {
	if err == nil {
		return nil
	}
	resource, token := run.Fence()
	err = fmt.Errorf("finishing the run of %s with token %d: %w", resource, token, err)
	var coded interface{ SQLState() string }
	if !errors.As(err, &coded) {
		return err
	}
	switch coded.SQLState() {
	case "QF001":
		stale := &fence.StaleError{Resource: resource, Token: token}
		if found := seen.FindStringSubmatch(err.Error()); found != nil {
			n, _ := strconv.ParseUint(found[1], 10, 64) // digits
			stale.Seen = locking.Token(n)
		}
		return fence.Refused(ctx, stale)
	case "QF002":
		return fmt.Errorf("%w: is it in the database and the schema of Quorate's store? A failover may have lost it: %w", ErrNoClaim, err)
	case "QF003":
		return fmt.Errorf("%w: %w", ErrEnded, err)
	case "3F000", "42883", "42501": // no such schema or function, no right
		return fmt.Errorf("%w: run `quorate store migrate`, and grant the role EXECUTE of finish_run", err)
	}
	return err
}
