package view

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Command is one operator request, as the audit log shows it.
type Command struct {
	ID          string          `json:"id"`
	At          string          `json:"at" jsonschema:"When it was asked for."`
	Kind        commands.Kind   `json:"kind" jsonschema:"Kind of command."`
	Job         *string         `json:"job" jsonschema:"Job that it applies to; null for a tag or all jobs."`
	Tag         *string         `json:"tag" jsonschema:"Tag whose jobs it applies to."`
	All         bool            `json:"all" jsonschema:"It applies to all jobs."`
	By          *string         `json:"by" jsonschema:"Name or address of the author."`
	Reason      *string         `json:"reason" jsonschema:"Reason that the author gave."`
	Run         *string         `json:"run" jsonschema:"ID of the run that was cancelled or triggered."`
	Parent      *string         `json:"parent" jsonschema:"ID of the run whose end triggered this one."`
	Params      json.RawMessage `json:"params"`
	From        *string         `json:"from" jsonschema:"Start of the range of a backfill."`
	To          *string         `json:"to" jsonschema:"End of that range, excluded."`
	Concurrency *int            `json:"concurrency" jsonschema:"How many runs of a backfill may run at once."`
	Until       *string         `json:"until" jsonschema:"End of a pause; null: it lasts until it is resumed."`
	Expires     *string         `json:"expires" jsonschema:"The runs must start before this time."`
	Result      *string         `json:"result" jsonschema:"Result in words; null: none yet."`
	Closed      *string         `json:"closed" jsonschema:"When the result was known."`
}

// NewCommand returns a command as a row.
func NewCommand(command commands.Command) Command {
	row := Command{
		ID: command.ID, At: Text(Stamp(command.At)), Kind: command.Kind, Job: Optional(command.Job), Tag: Optional(command.Tag), All: command.All,
		By: Optional(command.By), Reason: Optional(command.Reason), Run: Optional(command.Run), Parent: Optional(command.Parent),
		Params: command.Params, From: Stamp(command.From), To: Stamp(command.To),
		Concurrency: Optional(command.Concurrency), Result: Optional(command.Result), Closed: Stamp(command.Closed),
	}
	asked := command.Within > 0 // a note was not
	if command.Kind == commands.Pause {
		row.Until = Stamp(command.Ends())
	}
	if command.Kind.Request() && asked {
		row.Expires = Stamp(command.Expires())
	}
	if command.Kind == commands.Trigger && asked {
		row.Run = Optional(triggeredRun(command).ID())
	}
	return row
}

// triggeredRun returns what is known of a triggered run before it begins.
func triggeredRun(command commands.Command) ledger.Entry {
	return ledger.Entry{Job: command.Job, Tick: command.At, Order: command.At, Stream: commands.StreamManual}
}

// Target returns what the command applies to, in words.
func (a Command) Target() string {
	switch {
	case a.All:
		return "all jobs"
	case a.Tag != nil:
		return "tag " + *a.Tag
	case a.Job != nil:
		return *a.Job
	}
	return ""
}

// LatestCommands lists the latest commands, newest first.
func (r Reader) LatestCommands(ctx context.Context, limit int) ([]Command, error) {
	list, err := r.Records.Commands.Audit(ctx, limit)
	return rowsOf(list, err, NewCommand)
}

// An AuditQuery filters the audit log. Empty fields match every command.
type AuditQuery struct {
	Limit int
	After string // the ID of a command: only older commands
	Since time.Time
	By    string // a part of the name of who asked
	Job   string // the key of a job, or a tag
	Kinds []commands.Kind
	// Refused: true for refused commands only, false for all others.
	Refused *bool
}

// matches reports whether the query matches a command.
func (q AuditQuery) matches(command commands.Command) bool {
	return !command.At.Before(q.Since) && strings.Contains(strings.ToLower(command.By), strings.ToLower(q.By)) &&
		(q.Job == "" || q.Job == command.Job || q.Job == command.Tag) &&
		(len(q.Kinds) == 0 || slices.Contains(q.Kinds, command.Kind)) &&
		(q.Refused == nil || *q.Refused == command.Refused())
}

// OpenCommands are the commands in force. Unknown says why they are not known although a quorum of
// nodes answers: new nodes do not vouch for pauses before their grace ends.
type OpenCommands struct {
	commands.Open
	Unknown string
}

// OpenCommands returns the commands in force.
func (r Reader) OpenCommands(ctx context.Context) (OpenCommands, error) {
	open, err := r.Records.Commands.Open(ctx)
	if errors.Is(err, commands.ErrGrace) {
		return OpenCommands{Unknown: "Pauses and requests are not known yet, and no tick starts: " + err.Error()}, nil
	}
	return OpenCommands{Open: open}, err
}

// Pauses lists the pauses in force, oldest first.
func (r Reader) Pauses(ctx context.Context) ([]Command, error) {
	open, err := r.Records.Commands.Open(ctx)
	commands.Sort(open.Pauses)
	return rowsOf(open.Pauses, err, NewCommand)
}

// Audit lists the commands that match the query, newest first. It covers the commands that
// the log guarantees to keep. Next is After of the next page.
func (r Reader) Audit(ctx context.Context, q AuditQuery) (Page[Command], error) {
	list, err := r.Records.Commands.Audit(ctx, max(q.Limit, commands.KeepAudit+commands.KeepRefused))
	if err != nil {
		return Page[Command]{}, err
	}
	if q.After != "" {
		i := slices.IndexFunc(list, func(command commands.Command) bool { return command.ID == q.After })
		if i < 0 {
			return Page[Command]{}, invalid("cursor: the audit log no longer keeps this command; ask without a cursor")
		}
		list = list[i+1:]
	}
	p := Page[Command]{Items: []Command{}}
	for _, command := range list {
		if !q.matches(command) {
			continue
		}
		if len(p.Items) == q.Limit {
			p.Next = &p.Items[q.Limit-1].ID
			break
		}
		p.Items = append(p.Items, NewCommand(command))
	}
	return p, nil
}
