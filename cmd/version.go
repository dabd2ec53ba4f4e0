package cmd

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (a App) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  quorate version",
		Args:    usage(noArgs),
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintf(a.Out, "%s\n", a.versionLine())
			return nil
		},
	}
}

// versionLine names the binary, its version, and what built it.
func (a App) versionLine() string {
	return fmt.Sprintf("%s %s %s %s/%s", a.name(), Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Version is the version this binary was built from: the module's tag, or the
// commit where there is none.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel+" + s.Value[:12]
		}
	}
	return "devel"
}
