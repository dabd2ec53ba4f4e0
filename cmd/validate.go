package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler/replica"
)

func (a App) validateCommand(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "validate",
		Short: "Report every mistake in the configuration, file:line:column",
		Long: `Report every mistake in the configuration, file:line:column, and start nothing.
Exit code 2 if there is any. What is allowed but may not be meant is told on
standard error as a warning, and is no mistake. References such as ${file:/run/secrets/redis} are
not resolved, so it can be checked where its secrets are not.`,
		Example: "  quorate validate --config prod.yaml",
		Args:    usage(noArgs),
		RunE: func(*cobra.Command, []string) error {
			config, err := replica.Read(f.source(), a.Registry)
			if err != nil {
				return err
			}
			for _, w := range config.Warnings() {
				fmt.Fprintln(a.Err, w)
			}
			fmt.Fprintf(a.Out, "the configuration is valid: %d jobs, %s\n", len(config.Jobs), sizeOf(config.Redis))
			return nil
		},
	}
}

// sizeOf says how many nodes there are.
func sizeOf(r replica.RedisConfig) string {
	if len(r.Cells) == 0 {
		return fmt.Sprintf("%d nodes", len(r.Nodes))
	}
	n := 0
	for _, cell := range r.Cells {
		n += len(cell.Nodes)
	}
	return fmt.Sprintf("%d nodes in %d cells", n, len(r.Cells))
}

func (a App) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of config.yaml",
		Long: `Print the JSON schema of config.yaml. Editors that speak YAML use it when the
file begins with
  # yaml-language-server: $schema=quorate.schema.json`,
		Example: "  quorate schema > quorate.schema.json",
		Args:    usage(noArgs),
		RunE: func(*cobra.Command, []string) error {
			schema, err := replica.Schema()
			if err != nil {
				return err
			}
			_, err = a.Out.Write(schema)
			return err
		},
	}
}
