//go:build !linux && !darwin

package execjob

import (
	"errors"
	"os/exec"
	"time"
)

// errUnsupported is the error of a run on a system without process groups.
var errUnsupported = errors.New("exec jobs need process groups, so they run on Linux and macOS only")

type group struct{}

func newGroup() (*group, error)                    { return nil, errUnsupported }
func (*group) start(*exec.Cmd) error               { return errUnsupported }
func (*group) others() int                         { return 0 }
func (*group) stop(time.Duration, <-chan struct{}) {}
func (*group) close() error                        { return nil }
