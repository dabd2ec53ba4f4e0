package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"

	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/internal/store/single/sqlstore"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/fence/sqlfence"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Finish ends the run as succeeded if the transaction commits: the effects of the transaction and the
// outcome of the run come together or not at all. Call it last, right before the commit: until the
// transaction ends, other replicas wait for the claim of the job.
//
// Quorate's store has to be on the server of the transaction, whose user needs the rights of a replica. Ctx
// comes from the context of the function's call. The transaction is not at SERIALIZABLE: there, what it reads
// would keep the lease from being extended.
//
// The error is a *fence.StaleError if another claim excludes the run; [sqlfence.ErrNoClaim];
// [sqlfence.ErrEnded]; or that of the database. After any error, roll back.
//
// Once the transaction has committed, the run has succeeded, whatever the function returns. If the
// outcome of the commit is unknown, return its error: the replica finds out, and calls the function
// again only if the transaction was rolled back.
func Finish(ctx context.Context, tx *sql.Tx, run jobs.Run) error {
	return finishtx.Do(ctx, run, func(end finishtx.End) error {
		err := explain(inTx(tx, end.Schema).Finish(ctx, end))
		if hasNoTables(err) {
			return fmt.Errorf("%w: %w", finishtx.ErrNoClaim, err)
		}
		return err
	})
}

var _ = sqlfence.ErrNoClaim // which the documentation names

// Trigger asks for one run of command.Job, the key of a job, if the transaction commits, and returns the ID
// of the request. The database is that of Quorate's tables on the server of the transaction, by default
// "quorate". In the function of a job leave it empty: the context knows it, and no other is accepted.
//
// Trigger takes ID, By, Reason, Within and Params of the command. The audit log adds the user of the session
// to By, as in "ann as app@%". A replica sees the request within seconds of the commit; Within counts from
// then. Asking again with the ID has no effect.
//
// The error is a *commands.Error for an invalid command, or one too many, and a *commands.ReusedIDError if the
// ID belongs to another command. After any error, roll back.
func Trigger(ctx context.Context, tx *sql.Tx, database string, command commands.Command) (id string, err error) {
	command.Kind = cmp.Or(command.Kind, commands.Trigger)
	if command, err = command.Ready(); err != nil {
		return "", err
	}
	if command.Kind != commands.Trigger || command.Trigger != ledger.ByManual || command.Parent != "" {
		return "", &commands.Error{Kind: command.Kind, Msg: "a transaction can only trigger a job, by itself"}
	}
	named := quoted(cmp.Or(database, DefaultDatabase))
	if own, inRun := finishtx.Schema(ctx); inRun && own != "" {
		if database != "" && named != own {
			return "", &commands.Error{Kind: command.Kind, Msg: fmt.Sprintf("the store of this run has the database %s, not %s: leave it empty", own, named)}
		}
		named = own
	}
	var user string
	if err := tx.QueryRowContext(ctx, "SELECT CURRENT_USER()").Scan(&user); err != nil {
		return "", err
	}
	if command.By == "" {
		command.By = user
	} else {
		command.By += " as " + user
	}
	if command, err = command.Ready(); err != nil { // By may be too long now
		return "", err
	}
	if err := explain(inTx(tx, named).Trigger(ctx, command)); err != nil {
		return "", fmt.Errorf("asking for a trigger of %s: %w", command.Job, err)
	}
	return command.ID, nil
}

// inTx is a transaction on the tables of a database, whose name is quoted.
func inTx(tx *sql.Tx, database string) sqlstore.InTx {
	t := texts("")
	t.Tables = database + "."
	return sqlstore.InTx{Tx: tx, Texts: t, Slots: slots, Lock: " FOR UPDATE"}
}

// explain says what to do about an error of the database.
func explain(err error) error {
	switch c := code(err); {
	case hasNoTables(err):
		return fmt.Errorf("the tables of Quorate are not on the server of this transaction, or have another name: %w", err)
	case c == changedSinceRead:
		return fmt.Errorf("%w: a record has changed since this transaction began to read (innodb_snapshot_isolation): begin it at READ COMMITTED", err)
	case c == tableDenied, c == columnDenied, c == databaseDenied:
		return fmt.Errorf("%w: give the user of this transaction the rights that `quorate-mysql store migrate --print --role` prints", err)
	}
	return err
}

func hasNoTables(err error) bool { return code(err) == noSuchTable || code(err) == unknownDatabase }
