// Package sqlcommands asks for runs of jobs in a transaction of your own, if Quorate's store is
// the same PostgreSQL database. The request is made if the transaction commits, and never if
// it does not.
//
//	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//		if _, err := tx.Exec(ctx, "INSERT INTO orders ..."); err != nil {
//			return err
//		}
//		_, err := sqlcommands.Trigger(ctx, tx.Exec, "quorate", commands.Command{Job: "invoice"})
//		return err
//	})
//
// With database/sql it is tx.ExecContext instead of tx.Exec.
//
// The role of the transaction needs USAGE of the schema, and EXECUTE of its function
// trigger_job. Programs in other languages call that function:
//
//	SELECT quorate.trigger_job('invoice', '{"order": 7}');
package sqlcommands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Trigger asks for one run of command.Job, the key of a job, and returns the ID of the request.
// The transaction is given by its method exec: ExecContext of a sql.Tx, or Exec of a pgx.Tx.
// The schema is that of Quorate's tables, by default "quorate". In the function of a job leave it
// empty: the context knows the schema of the run's store, and no other is accepted.
//
// Trigger takes ID, By, Reason, Within and Params of the command. The audit log adds the role of
// the session to By, as in "ann as app". A replica sees the request
// within seconds of the commit; Within counts from then. Asking again with the ID has no
// effect.
//
// The error is a *commands.Error for an invalid command, or one too many, and an
// *commands.ReusedIDError if the ID belongs to another command. If PostgreSQL has refused the command,
// roll back: it accepts no further statement in the transaction.
func Trigger[Result any](
	ctx context.Context, exec func(ctx context.Context, statement string, args ...any) (Result, error),
	schema string, command commands.Command,
) (id string, err error) {
	command.Kind = cmp.Or(command.Kind, commands.Trigger)
	if command, err = command.Ready(); err != nil {
		return "", err
	}
	if command.Kind != commands.Trigger || command.Trigger != ledger.ByManual || command.Parent != "" {
		return "", &commands.Error{Kind: command.Kind, Msg: "a transaction can only trigger a job, by itself"}
	}
	var params any // NULL
	if len(command.Params) > 0 {
		params = string(command.Params)
	}
	if schema, err = schemaFor(ctx, schema); err != nil {
		return "", &commands.Error{Kind: command.Kind, Msg: err.Error()}
	}
	_, err = exec(ctx, "SELECT "+schema+".trigger_job($1::text, $2::text::json, $3::text, $4::text, $5::text, $6::text::interval)",
		command.Job, params, command.ID, command.By, command.Reason, fmt.Sprintf("%d microseconds", command.Within.Microseconds()))
	return command.ID, refusal(command, err)
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
func refusal(command commands.Command, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("asking for a trigger of %s: %w", command.Job, err)
	var coded interface{ SQLState() string }
	if !errors.As(err, &coded) {
		return err
	}
	switch coded.SQLState() {
	case "23505": // unique_violation
		return errors.Join(&commands.ReusedIDError{ID: command.ID}, err)
	case "22023": // invalid_parameter_value
		return errors.Join(&commands.Error{Kind: command.Kind, Msg: "the function trigger_job refuses it"}, err)
	case "54000": // program_limit_exceeded
		return errors.Join(commands.TooMany(command.Kind, commands.MaxOpen), err)
	case "3F000", "42883", "42501": // no such schema or function, no right
		return fmt.Errorf("%w: run `quorate store migrate`, and grant the role EXECUTE of trigger_job", err)
	}
	return err
}
