package replica

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"io"
	"os"
	"time"
)

// identify returns the first id that is set, else the host's name and random
// digits: two processes of one host must never share an id.
func identify(ids ...string) string {
	if id := cmp.Or(ids...); id != "" {
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

// stagger is what the scheduler takes for it: its zero means the default.
func (c *Config) stagger() time.Duration {
	if c.Scheduler.Stagger == 0 {
		return -1
	}
	return c.Scheduler.Stagger
}

func output(w io.Writer) io.Writer {
	if w == nil {
		return os.Stderr
	}
	return w
}
