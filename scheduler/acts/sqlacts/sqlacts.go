// Package sqlacts asks for runs of jobs in a transaction of your own, if Quorate's store is
// the same PostgreSQL database. The request is made if the transaction commits, and never if
// it does not.
//
//	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//		if _, err := tx.Exec(ctx, "INSERT INTO orders ..."); err != nil {
//			return err
//		}
//		_, err := sqlacts.Trigger(ctx, tx.Exec, "quorate", acts.Act{Job: "invoice"})
//		return err
//	})
//
// With database/sql it is tx.ExecContext instead of tx.Exec.
//
// The role of the transaction needs USAGE of the schema, and EXECUTE of its function
// trigger_job. Programs in other languages call that function:
//
//	SELECT quorate.trigger_job('invoice', '{"order": 7}');
package sqlacts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Trigger asks for one run of act.Job, the key of a job, and returns the ID of the request.
// The transaction is given by its method exec: ExecContext of a sql.Tx, or Exec of a pgx.Tx.
// The schema is that of Quorate's tables, by default "quorate". In the function of a job leave it
// empty: the context knows the schema of the run's store, and no other is accepted.
//
// Trigger takes ID, By, Reason, Within and Params of the act. The audit log adds the role of
// the session to By, as in "ann as app". A replica sees the request
// within seconds of the commit; Within counts from then. Asking again with the ID has no
// effect.
//
// The error is an *acts.Error for an invalid act, or one too many, and an
// *acts.ReusedIDError if the ID belongs to another act. If PostgreSQL has refused the act,
// roll back: it accepts no further statement in the transaction.
func Trigger[Result any](
	ctx context.Context, exec func(ctx context.Context, statement string, args ...any) (Result, error),
	schema string, act acts.Act,
) (id string, err error) {
	act.Kind = cmp.Or(act.Kind, acts.Trigger)
	if act, err = act.Ready(); err != nil {
		return "", err
	}
	if act.Kind != acts.Trigger || act.Trigger != ledger.ByManual || act.Parent != "" {
		return "", &acts.Error{Kind: act.Kind, Msg: "a transaction can only trigger a job, by itself"}
	}
	var params any // NULL
	if len(act.Params) > 0 {
		params = string(act.Params)
	}
	if schema, err = schemaFor(ctx, schema); err != nil {
		return "", &acts.Error{Kind: act.Kind, Msg: err.Error()}
	}
	_, err = exec(ctx, "SELECT "+schema+".trigger_job($1::text, $2::text::json, $3::text, $4::text, $5::text, $6::text::interval)",
		act.Job, params, act.ID, act.By, act.Reason, fmt.Sprintf("%d microseconds", act.Within.Microseconds()))
	return act.ID, refusal(act, err)
}

// schemaFor is the schema to ask, quoted, for a caller that names one, or none.
func schemaFor(ctx context.Context, name string) (string, error) {
	own, inRun := finishtx.Schema(ctx)
	named := `"` + strings.ReplaceAll(cmp.Or(name, "quorate"), `"`, `""`) + `"`
	switch {
	case own == "" && inRun && name == "":
		return "", errors.New("the store of this run is not a PostgreSQL database: name the schema to ask")
	case own == "" || own == named:
		return named, nil
	case name == "":
		return own, nil
	}
	return "", fmt.Errorf("the store of this run has the schema %s, not %s: leave the schema empty; for a job of another cluster, call its function trigger_job", own, named)
}

// refusal is the error for callers.
func refusal(act acts.Act, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("asking for a trigger of %s: %w", act.Job, err)
	var coded interface{ SQLState() string }
	if !errors.As(err, &coded) {
		return err
	}
	switch coded.SQLState() {
	case "23505": // unique_violation
		return errors.Join(&acts.ReusedIDError{ID: act.ID}, err)
	case "22023": // invalid_parameter_value
		return errors.Join(&acts.Error{Kind: act.Kind, Msg: "the function trigger_job refuses it"}, err)
	case "54000": // program_limit_exceeded
		return errors.Join(acts.TooMany(act.Kind, acts.MaxOpen), err)
	case "3F000", "42883", "42501": // no such schema or function, no right
		return fmt.Errorf("%w: run `quorate store migrate`, and grant the role EXECUTE of trigger_job", err)
	}
	return err
}
