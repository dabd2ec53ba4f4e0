package reference

import (
	"regexp"
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
	page, err := write("cli.md", data)
	return named(root, page), err
}

var (
	marked = regexp.MustCompile("`quorate((?:\\s[a-z]+)+)`((?:\\s[a-z]+)?)")
	word   = regexp.MustCompile(`\s[a-z]+`)
)

// named moves the marks of commands in a page, which know no names, to where those names end. In
// other sentences about quorate there is none.
func named(root *cobra.Command, page string) string {
	return marked.ReplaceAllStringFunc(page, func(s string) string {
		words := word.FindAllString(strings.ReplaceAll(s, "`", ""), -1)
		c, _, _ := root.Find(strings.Fields(strings.Join(words, ""))) // else the root
		name := len(strings.Fields(c.CommandPath())) - 1
		if rest := strings.Join(words[name:], ""); name > 0 {
			return "`quorate" + strings.Join(words[:name], "") + "`" + rest
		}
		return strings.ReplaceAll(s, "`", "")
	})
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
