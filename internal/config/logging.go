package config

import (
	"io"
	"log/slog"
)

// NewLogger returns the logger that the log section of a configuration asks
// for.
func NewLogger(cfg LogConfig, w io.Writer) *slog.Logger {
	var level slog.Level
	// The text was checked when the configuration was read; what New refuses
	// is logged at the default, info.
	_ = level.UnmarshalText([]byte(cfg.Level))
	options := &slog.HandlerOptions{Level: level}
	if cfg.Format == "json" {
		return slog.New(LogHandler{slog.NewJSONHandler(w, options)})
	}
	return slog.New(LogHandler{slog.NewTextHandler(w, options)})
}

// A LogHandler is that of a logger of NewLogger: no program has given it attributes.
type LogHandler struct{ slog.Handler }
