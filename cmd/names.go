package cmd

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// product is the name of this project's binary.
const product = "quorate"

// name is the name of the binary.
func (a App) name() string { return cmp.Or(a.Name, product) }

// programName is the name of the started program.
func programName(arg0 string) string {
	return strings.TrimSuffix(filepath.Base(arg0), ".exe")
}

// rename replaces the binary's name in all help texts.
func (a App) rename(root *cobra.Command) {
	if a.name() == product {
		return
	}
	own := a.namer(root)
	eachCommand(root, func(c *cobra.Command) {
		c.Short, c.Long, c.Example = own(c.Short), own(c.Long), own(c.Example)
	})
}

// namer returns a function that replaces "quorate" before a command of root.
func (a App) namer(root *cobra.Command) func(string) string {
	var names []string
	for _, c := range root.Commands() {
		names = append(names, regexp.QuoteMeta(c.Name()))
	}
	commands := regexp.MustCompile(`\b` + product + ` (` + strings.Join(names, "|") + `)\b`)
	return func(text string) string { return commands.ReplaceAllString(text, a.name()+" $1") }
}

// own formats a message with the binary's name.
func (a App) own(format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	if a.name() == product {
		return text
	}
	return a.namer(newRoot(new(cli)))(text)
}

// say prints a message.
func (a App) say(format string, args ...any) { fmt.Fprintln(a.Out, a.own(format, args...)) }

// warn prints a message to standard error.
func (a App) warn(format string, args ...any) {
	fmt.Fprintln(a.Err, a.name()+": "+a.own(format, args...))
}

// warnOf prints a warning, unless it is empty.
func (a App) warnOf(text string) {
	if text != "" {
		a.warn("%s", text)
	}
}
