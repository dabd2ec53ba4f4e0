package cmd

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  quorate version",
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintf(a.Out, "%s\n", a.versionLine())
			return nil
		},
	}
}

// versionLine has the binary's name, version and build.
func (a App) versionLine() string {
	info, _ := debug.ReadBuildInfo()
	return fmt.Sprintf("%s %s %s %s/%s%s", a.name(), Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, commitOf(info))
}

// Version is the version of this binary: the module's tag, else the commit.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	if commit := setting(info, "vcs.revision"); len(commit) >= 12 {
		return "devel+" + commit[:12]
	}
	return "devel"
}

// commitOf is the commit and its date, as the end of a line. `go install` of a version
// knows neither.
func commitOf(info *debug.BuildInfo) string {
	commit := setting(info, "vcs.revision")
	if len(commit) < 12 {
		return ""
	}
	return fmt.Sprintf(" commit %s %s", commit[:12], setting(info, "vcs.time"))
}

// setting is a setting of the build, "" if it is not known.
func setting(info *debug.BuildInfo, key string) string {
	if info != nil {
		for _, s := range info.Settings {
			if s.Key == key {
				return s.Value
			}
		}
	}
	return ""
}
