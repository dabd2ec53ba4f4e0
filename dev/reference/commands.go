package reference

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type group struct {
	Title    string
	Commands []command
}

type command struct {
	*cobra.Command
	Flags []flag
}

type flag struct{ Name, About, Default string }

// Lines are the examples.
func (c command) Lines() string { return block(c.Example) }

// Commands returns the page of the command line. Its groups are those of the help.
func Commands(root *cobra.Command) (string, error) {
	root.InitDefaultHelpCmd()
	data := struct {
		Root   command
		Groups []group
	}{Root: described(root)}
	for _, g := range root.Groups() {
		data.Groups = append(data.Groups, group{Title: strings.TrimSuffix(g.Title, ":"), Commands: under(root, g.ID)})
	}
	data.Groups = append(data.Groups, group{Title: "Additional commands", Commands: under(root, "")})
	return write("cli.md", data)
}

// under returns the commands of a group, each with those below it.
func under(parent *cobra.Command, group string) (all []command) {
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() && c.GroupID == group && c.Name() != "help" {
			all = append(append(all, described(c)), under(c, "")...)
		}
	}
	return all
}

// described returns a command with the flags of its own, and those that only some commands
// inherit.
func described(c *cobra.Command) command {
	d := command{Command: c}
	add := func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || c.HasParent() && c.Root().PersistentFlags().Lookup(f.Name) != nil {
			return
		}
		value, about := pflag.UnquoteUsage(f)
		name := strings.TrimSpace("--" + f.Name + " " + value)
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if short, _, is := strings.Cut(about, ": "); is && strings.Count(about, ",") > 12 {
			about = short + "; the help lists them"
		}
		one := flag{Name: name, About: about, Default: f.DefValue}
		if slices.Contains([]string{"false", "[]", "0"}, one.Default) {
			one.Default = ""
		}
		d.Flags = append(d.Flags, one)
	}
	c.LocalFlags().VisitAll(add)
	c.InheritedFlags().VisitAll(add)
	return d
}
