package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

var errLocalZone = errors.New("time zone Local differs between machines: write UTC or a name such as Europe/Paris")

// LoadZone returns the time zone of an IANA name. It refuses the empty name, the
// machine's own zone and what only some machines have, which may differ between replicas.
//
// Rules come from the machine's zoneinfo if it has one, else from the copy in the binary.
// Replicas with different releases of the rules may disagree about ticks in a zone whose
// rules have just changed.
func LoadZone(name string) (*time.Location, error) {
	folder, rest, _ := strings.Cut(name, "/")
	switch strings.ToLower(name) {
	case "":
		return nil, errors.New("time zone is empty: write UTC or a name such as Europe/Paris")
	case "local", "localtime", "posixrules", "factory":
		return nil, fmt.Errorf("time zone %s differs between machines: write UTC or a name such as Europe/Paris", name)
	}
	switch strings.ToLower(folder) {
	case "posix":
		return nil, fmt.Errorf("time zone %s is not on every machine: write %s", name, rest)
	case "right":
		return nil, fmt.Errorf("time zone %s counts leap seconds, and is not on every machine: write %s", name, rest)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %q: write UTC or an IANA name such as Europe/Paris", name)
	}
	return zone, nil
}

// A zoneName is a zone that is written as its name.
type zoneName struct{ *time.Location }

// MarshalText writes the name.
func (z zoneName) MarshalText() ([]byte, error) { return []byte(z.String()), nil }

// UnmarshalText reads a name, by LoadZone.
func (z *zoneName) UnmarshalText(name []byte) (err error) {
	z.Location, err = LoadZone(string(name))
	return err
}
