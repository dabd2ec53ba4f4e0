package rig

import (
	"context"
	"os/exec"
)

// spin keeps a core busy for as long as its parent lives.
const spin = "while kill -0 $PPID; do i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; done"

// KeepCoreBusy starts a process that does nothing but that. Stop ends it.
func KeepCoreBusy(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "sh", "-c", spin)
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	return func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}, nil
}
