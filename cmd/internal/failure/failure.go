// Package failure classifies the errors of commands, and formats them for people.
package failure

import (
	"errors"
	"fmt"
	"strings"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/commands"
)

// A usageError is a mistake on the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usagef formats a mistake on the command line.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// IsUsage reports whether err is a mistake on the command line, in a request or in the configuration.
func IsUsage(err error) bool {
	_, usage := errors.AsType[usageError](err)
	_, mistaken := errors.AsType[*settings.Error](err)
	foreign := errors.Is(err, store.ErrOtherService)
	_, refused := errors.AsType[*commands.Error](err)
	_, invalid := errors.AsType[*view.InvalidError](err)
	return usage || mistaken || foreign || refused || invalid
}

// Lines formats err for people: a line per mistake in a configuration, else one line.
func Lines(err error) []string {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' })
	if _, ok := errors.AsType[*settings.Error](err); ok {
		return lines
	}
	line := strings.Join(lines, "; ")
	if errors.Is(err, membership.ErrBlank) {
		line += "; the first replica that starts formats what is blank. If it is new, run quorate store init before, so that no tick waits for the grace"
	}
	return []string{line}
}
