package schedtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/scheduler/commands"
)

// Commands is a [commands.Store] in memory, shared by the replicas of one process.
// The zero value is ready to use.
type Commands struct {
	mu       sync.Mutex
	commands []commands.Command // in the order they were made

	notes []commands.Command
}

// Do implements [commands.Store].
func (a *Commands) Do(ctx context.Context, command commands.Command) (commands.Command, error) {
	if err := ctx.Err(); err != nil {
		return commands.Command{}, err
	}
	command, err := command.Ready()
	if err != nil {
		return commands.Command{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := a.find(command.ID); i >= 0 {
		if a.commands[i].Fingerprint() != command.Fingerprint() {
			return commands.Command{}, &commands.ReusedIDError{ID: command.ID}
		}
		return a.commands[i], nil
	}
	now := time.Now()
	if err := a.full(command, now); err != nil {
		return commands.Command{}, err
	}
	if command, err = command.Made(a.next(command, now)); err != nil {
		return commands.Command{}, err
	}
	a.commands = append(a.commands, command)
	return command, nil
}

// full is the error for one command too many.
func (a *Commands) full(command commands.Command, now time.Time) error {
	if most := command.Kind.Most(commands.MaxOpen); command.Kind.Request() && len(a.requests(now)) >= most {
		return commands.TooMany(command.Kind, most)
	}
	if command.Kind != commands.Pause {
		return nil
	}
	others := slices.DeleteFunc(a.pauses(now).Pauses, func(p commands.Command) bool { return p.Series() == command.Series() })
	if len(others) >= commands.MaxPauses {
		return commands.TooMany(commands.Pause, commands.MaxPauses)
	}
	return nil
}

// next returns an instant after those of the commands that command must follow.
func (a *Commands) next(command commands.Command, now time.Time) time.Time {
	at := now.Truncate(time.Millisecond).UTC()
	for _, have := range a.commands {
		if have.Series() == command.Series() && have.Last().Add(time.Millisecond).After(at) {
			at = have.Last().Add(time.Millisecond)
		}
	}
	return at
}

// Open implements [commands.Store].
func (a *Commands) Open(ctx context.Context) (commands.Open, error) {
	if err := ctx.Err(); err != nil {
		return commands.Open{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	open := a.pauses(now)
	open.Requests, open.Expired = a.requests(now), a.expired(now)
	return open, nil
}

func (a *Commands) expired(now time.Time) []commands.Command {
	var expired []commands.Command
	for _, command := range a.commands {
		if command.Kind.Request() && command.Closed.IsZero() && !now.Before(command.Expires()) {
			expired = append(expired, command)
		}
	}
	commands.Sort(expired)
	return expired
}

func (a *Commands) requests(now time.Time) []commands.Command {
	var open []commands.Command
	for _, command := range a.commands {
		if command.Kind.Request() && command.Closed.IsZero() && now.Before(command.Expires()) {
			open = append(open, command)
		}
	}
	commands.Sort(open)
	return open
}

func (a *Commands) pauses(now time.Time) (open commands.Open) {
	last := map[string]commands.Command{}
	for _, command := range a.commands {
		if !command.Kind.Request() {
			last[command.Series()] = command
		}
	}
	for _, series := range slices.Sorted(maps.Keys(last)) {
		if last[series].Kind == commands.Pause {
			open.Pause(last[series], now)
		}
	}
	return open
}

// Close implements [commands.Store].
func (a *Commands) Close(ctx context.Context, id, result string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := a.find(id); i >= 0 && a.commands[i].Kind.Request() && a.commands[i].Closed.IsZero() {
		a.commands[i] = a.commands[i].Done(result, time.Now())
	}
	return nil
}

func (a *Commands) find(id string) int {
	return slices.IndexFunc(a.commands, func(have commands.Command) bool { return have.ID == id })
}

// Audit implements [commands.Store].
func (a *Commands) Audit(ctx context.Context, limit int) ([]commands.Command, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	all := slices.Concat(a.commands, a.notes)
	commands.Sort(all)
	slices.Reverse(all)
	return all[:min(len(all), limit)], nil
}

// Note implements [commands.Notebook].
func (a *Commands) Note(ctx context.Context, command commands.Command) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.notes = append(a.notes, command.Noted(time.Now()))
	refused := slices.DeleteFunc(slices.Clone(a.notes), func(n commands.Command) bool { return !n.Refused() })
	if len(refused) > commands.KeepRefused {
		oldest := refused[0].ID
		a.notes = slices.DeleteFunc(a.notes, func(n commands.Command) bool { return n.ID == oldest })
	}
	return nil
}

// String lists the commands, for messages of tests.
func (a *Commands) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var lines []string
	for _, command := range a.commands {
		lines = append(lines, fmt.Sprintf("%s %s by %s: %s", command.Kind, command.Target(), command.By, command.Result))
	}
	return strings.Join(lines, "\n")
}

var (
	_ commands.Store    = (*Commands)(nil)
	_ commands.Notebook = (*Commands)(nil)
)
