package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler/replica"
)

// completeShells adds cobra's completion command, which by itself takes a shell
// that it does not know for a wish to read its help.
func completeShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	c, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, _ []string) error {
		return usageError{fmt.Errorf("name a shell: %[1]s bash, fish, powershell or zsh; see %[1]s --help", c.CommandPath())}
	}
}

// completeJobs completes the name of a job, wherever a command takes one, from
// the configuration.
func completeJobs(root *cobra.Command, f *flags) {
	names := func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		config, err := replica.Read(f.source(), nil)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list := slices.DeleteFunc(jobNames(config), func(name string) bool { return !strings.HasPrefix(name, typed) })
		return list, cobra.ShellCompDirectiveNoFileComp
	}
	for _, c := range root.Commands() {
		for _, c := range append(c.Commands(), c) {
			switch words := strings.Fields(c.Use); {
			case slices.Contains(words, "--job"):
				_ = c.RegisterFlagCompletionFunc("job", names)
			case slices.Contains(words, "JOB"), slices.Contains(words, "[JOB]"):
				c.ValidArgsFunction = names
			}
		}
	}
}

// completeList completes the values of a flag, also after a comma. Completion is a
// convenience; a flag that exists cannot fail to take it.
func completeList(c *cobra.Command, flag string, values []string) {
	_ = c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		var list []string
		for _, v := range values {
			if strings.HasPrefix(before+v, typed) {
				list = append(list, before+v)
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	})
}
