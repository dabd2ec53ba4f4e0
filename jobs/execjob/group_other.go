//go:build !linux && !darwin

package execjob

import (
	"os/exec"
	"time"
)

// A group cannot be made here.
type group struct{}

func newGroup() (*group, error)                    { return nil, errUnsupported }
func (*group) start(*exec.Cmd) error               { return errUnsupported }
func (*group) others() int                         { return 0 }
func (*group) stop(time.Duration, <-chan struct{}) {}
func (*group) close() error                        { return nil }
