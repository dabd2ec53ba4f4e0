package execjob

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/jobs"
)

// Params of the job "exec".
type Params struct {
	// Command is the program and its arguments. A program without a slash is looked up
	// in the replica's PATH. Required.
	Command []string `json:"command"`
	// Env is added to the command's environment.
	Env map[string]string `json:"env,omitempty"`
	// Dir is the command's working directory. Default: that of the replica.
	Dir string `json:"dir,omitempty"`
	// InheritEnv gives the command the replica's environment, instead of only PATH,
	// HOME, TZ and LANG. The replica's settings (QUORATE_*) and variables that hold
	// secrets of its configuration are left out.
	InheritEnv bool `json:"inherit_env,omitempty"`
	// KillGrace is the time between SIGTERM and SIGKILL. It must be below the safety
	// margin of the lock. Default: two thirds of that, at most 1s.
	KillGrace time.Duration `json:"kill_grace,omitempty"`
}

// Validate returns a *jobs.ParamError for each invalid param, joined.
func (p *Params) Validate() error {
	var errs []error
	if len(p.Command) == 0 || p.Command[0] == "" {
		errs = append(errs, paramError("is missing: write the program and its arguments as a list", "command"))
	}
	if len(p.Command) > 0 && strings.ContainsAny(p.Command[0], " \t\n") && !strings.Contains(p.Command[0], "/") {
		errs = append(errs, paramError("is no program: write its words as items of the list, or [sh, -c, …]", "command", "0"))
	}
	if strings.Contains(p.Dir, "\x00") {
		errs = append(errs, paramError("has a zero byte in it: remove it", "dir"))
	}
	for i, arg := range p.Command {
		if strings.Contains(arg, "\x00") {
			errs = append(errs, paramError("has a zero byte in it: remove it", "command", strconv.Itoa(i)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		errs = append(errs, validateEnv(name, p.Env[name]))
	}
	if p.KillGrace < 0 {
		errs = append(errs, paramError("must be positive: write a time such as 1s", "kill_grace"))
	}
	return errors.Join(errs...)
}

func validateEnv(name, value string) error {
	switch {
	case name == "" || strings.ContainsAny(name, "=\x00"):
		return paramError("is no name of an environment variable", "env", name)
	case slices.Contains(ownEnv(), name):
		return paramError("is set by quorate for every run: remove it", "env", name)
	case strings.Contains(value, "\x00"):
		return paramError("has a zero byte in it: remove it", "env", name)
	}
	return nil
}

// ValidateLimits returns a *jobs.ParamError if the command could outlive the lease. It sets
// the default of KillGrace, which depends on the limits.
func (p *Params) ValidateLimits(limits jobs.Limits) error {
	if p.KillGrace == 0 {
		p.KillGrace = min(time.Second, cmp.Or(limits.SafetyMargin*2/3, time.Second))
	}
	if limits.SafetyMargin > 0 && p.KillGrace >= limits.SafetyMargin {
		return paramError(fmt.Sprintf("is %v, but the lease ends %v (lock.safety_margin) after the command is told to stop: "+
			"write less than that, or raise the margin", p.KillGrace, limits.SafetyMargin), "kill_grace")
	}
	return nil
}

func paramError(msg string, path ...string) error {
	return &jobs.ParamError{Path: path, Msg: msg}
}
