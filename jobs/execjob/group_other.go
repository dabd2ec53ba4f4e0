//go:build !linux && !darwin

package execjob

import (
	"errors"
	"os/exec"
	"time"
)

// errUnsupported is how a run fails where there are no process groups.
var errUnsupported = errors.New("exec jobs need process groups, so they run on Linux and macOS only")

// A group cannot be made here.
type group struct{}

func newGroup() (*group, error)                    { return nil, errUnsupported }
func (*group) start(*exec.Cmd) error               { return errUnsupported }
func (*group) others() int                         { return 0 }
func (*group) stop(time.Duration, <-chan struct{}) {}
func (*group) close() error                        { return nil }
