package unreadable

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Entry is what listings show of a tick whose note, or other record, cannot be read.
func Entry(err error) ledger.Entry {
	why := ledger.Reason{Code: ledger.CodeUnreadable, Details: &ledger.Details{Text: fmt.Sprintf("%.1000s", err.Error())}}
	return ledger.Entry{Outcome: ledger.Unreadable, Reason: why}
}

// Act is what listings show of an act whose record cannot be read.
func Act(record string, at time.Time, err error) acts.Act {
	return acts.Act{ID: id(record), Kind: acts.Unreadable, At: at}.Done(fmt.Sprintf("the record %.300s cannot be read: %v", record, err), at)
}

// Pause is what stays in force of a pause or resume whose record cannot be read: a pause of the target
// that the act's line names, until somebody resumes it.
func Pause(line string, err error) acts.Act {
	a := acts.Act{ID: id(line), Kind: acts.Pause, By: "unknown", Reason: fmt.Sprintf("its record cannot be read: %.900s", err.Error())}
	kind, name, _ := strings.Cut(line, " ")
	switch kind {
	case "all":
		a.All = true
	case "tag":
		a.Tag = name
	default:
		a.Job = name
	}
	return a
}

func id(record string) string {
	sum := sha256.Sum256([]byte(record))
	return "unreadable-" + hex.EncodeToString(sum[:16])
}
