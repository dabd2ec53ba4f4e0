package job

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/schedule"
)

// hashBytes is how much of a hash is kept: enough to tell versions of a job apart, short
// enough to read aloud.
const hashBytes = 6

// hash is Hash. If that is empty, it is made of everything that can be encoded: all
// fields but Name, Key, Handler and Bind, and the definition of the Schedule.
func (d *Definition) hash() string {
	if d.Hash != "" {
		return d.Hash
	}
	ticks, nameless := written(d.Schedule), *d
	nameless.Name, nameless.Key = "", ""
	text, err := json.Marshal(&nameless)
	if err != nil {
		return "" // a field cannot be encoded: the version is unknown
	}
	return digest(string(text), ticks)
}

// written is the definition of a schedule, or its first ticks if it has none.
func written(s schedule.Schedule) string {
	if text, err := schedule.Definition(s); err == nil {
		return text
	}
	return firstTicks(s)
}

// firstTicks distinguishes schedules without a definition by some ticks after each of
// several instants: midnight of each day and of the second of March begin alike. It sees
// nothing of schedules that end earlier: give such jobs a Spec or a Hash.
func firstTicks(s schedule.Schedule) string {
	var ticks []time.Time
	for _, year := range []int{2020, 2026, 2030} {
		at := time.Date(year, time.March, 1, 0, 0, 0, 0, time.UTC)
		for range 4 {
			if at = s.Next(at); at.IsZero() {
				break
			}
			ticks = append(ticks, at)
		}
	}
	return fmt.Sprint(ticks)
}

// SetHash is the hash of a set of jobs, also of their functions.
func SetHash(list []*Job) string {
	versions := make([]string, len(list))
	for i, j := range list {
		versions[i] = j.Name + "|" + j.Key + "|" + j.Hash
		if j.Code != "" {
			versions[i] += "|" + j.Code
		}
	}
	slices.Sort(versions)
	return digest(versions...)
}

func digest(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)[:hashBytes])
}
