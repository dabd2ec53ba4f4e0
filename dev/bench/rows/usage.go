package rows

import (
	"context"
	"errors"
	"runtime"
	"syscall"
	"time"
)

// cpu returns how much processor time this process has used so far.
func cpu() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

// A usage is processor time.
type usage struct{ servers, client time.Duration }

// used returns how much the servers and this process have used so far.
func (e Env) used(ctx context.Context) (usage, error) {
	servers, err := e.Rig.Used(ctx)
	client, err2 := cpu()
	return usage{servers, client}, errors.Join(err, err2)
}

// memory returns how many bytes of heap and stacks are in use.
func memory() float64 {
	runtime.GC()
	runtime.GC() // what finalizers released
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}
