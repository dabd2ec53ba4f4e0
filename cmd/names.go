package cmd

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// product is what the binary of this project is called.
const product = "quorate"

// name is what the binary is called.
func (a App) name() string { return cmp.Or(a.Name, product) }

// programName is the name by which the process was started.
func programName(arg0 string) string {
	return strings.TrimSuffix(filepath.Base(arg0), ".exe")
}

// rename puts the binary's name before each command that help names.
func (a App) rename(root *cobra.Command) {
	if a.name() == product {
		return
	}
	own := a.namer(root)
	var each func(*cobra.Command)
	each = func(c *cobra.Command) {
		c.Short, c.Long, c.Example = own(c.Short), own(c.Long), own(c.Example)
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	each(root)
}

// namer returns a function that puts the binary's name before the commands of
// root that a text names.
func (a App) namer(root *cobra.Command) func(string) string {
	var names []string
	for _, c := range root.Commands() {
		names = append(names, regexp.QuoteMeta(c.Name()))
	}
	commands := regexp.MustCompile(`\b` + product + ` (` + strings.Join(names, "|") + `)\b`)
	return func(text string) string { return commands.ReplaceAllString(text, a.name()+" $1") }
}

// own is a message with the binary's name in it.
func (a App) own(format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	if a.name() == product {
		return text
	}
	return a.namer(App{}.root())(text)
}

// say prints a message.
func (a App) say(format string, args ...any) { fmt.Fprintln(a.Out, a.own(format, args...)) }

// warn prints a message that is not a result.
func (a App) warn(format string, args ...any) {
	fmt.Fprintln(a.Err, a.name()+": "+a.own(format, args...))
}
