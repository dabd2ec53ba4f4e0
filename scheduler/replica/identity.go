package replica

import (
	"crypto/rand"
	"encoding/hex"
	"os"
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
