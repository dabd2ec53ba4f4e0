package replica

import (
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/quorate/quorate/internal/config"
)

// identify returns the id that is set, else the host's name and random
// digits: two processes of one host must never share an id.
func identify(id string) string {
	if id != "" {
		return id
	}
	host, err := os.Hostname()
	if err != nil {
		host = "replica"
	}
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return host + "-" + hex.EncodeToString(random[:])
}

// programName tells the program of this process from those of other services: the path of its main
// package, or the name of its file if the path is the same for all, as after `go run main.go`.
func programName() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Path != "" && info.Path != "command-line-arguments" {
		return info.Path
	}
	file, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Base(file)
}

// loggerFor returns the logger of a replica: own, if the program has one.
func loggerFor(cfg *config.Config, own *slog.Logger) *slog.Logger {
	if own == nil {
		return config.NewLogger(cfg.Log, os.Stderr)
	}
	if _, ours := own.Handler().(config.LogHandler); ours {
		return own
	}
	return slog.New(grouping{own.Handler()})
}

// grouping is the handler of a program's own logger. The program may have given it an attribute
// "replica": that of this replica is in the group "quorate".
type grouping struct{ slog.Handler }

// WithAttrs implements slog.Handler. What comes after the replica's attribute is not changed.
func (g grouping) WithAttrs(attrs []slog.Attr) slog.Handler {
	i := slices.IndexFunc(attrs, func(a slog.Attr) bool { return a.Key == "replica" })
	if i < 0 {
		return grouping{g.Handler.WithAttrs(attrs)}
	}
	attrs = slices.Clone(attrs)
	attrs[i] = slog.Attr{Key: "quorate", Value: slog.GroupValue(attrs[i])}
	return g.Handler.WithAttrs(attrs)
}

// WithGroup implements slog.Handler.
func (g grouping) WithGroup(name string) slog.Handler { return grouping{g.Handler.WithGroup(name)} }
