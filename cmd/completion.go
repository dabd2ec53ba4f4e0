package cmd

import (
	"fmt"

	"github.com/spf13/cobra"
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
