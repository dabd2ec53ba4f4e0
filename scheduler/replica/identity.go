package replica

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

// jobsHash tells replicas with different jobs apart in listings.
func (c *Config) jobsHash() string {
	text, err := json.Marshal(c.Jobs)
	if err != nil {
		return "" // params that JSON has no form for, such as .inf
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
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
