package nodes

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// FormatVersion is the version of what this release stores on nodes. Nodes with
// a newer one are refused.
const FormatVersion = 1

// membership is what every request tells a node about the cluster it is for.
type membership struct {
	names string // sorted, the mark of the cell last, joined by a space; kept on the node to be shown
	hash  string
}

func newMembership(names []string, cell string, cells []string) membership {
	sorted := slices.Sorted(slices.Values(names))
	if cell != "" {
		sorted = append(sorted, cellMark(cell, cells))
	}
	sum := sha256.Sum256([]byte(strings.Join(sorted, "\n")))
	return membership{names: strings.Join(sorted, " "), hash: hex.EncodeToString(sum[:16])}
}

// target is what a node of another list is sealed for: this list, at an epoch.
func (m membership) target(epoch int64) string { return fmt.Sprintf("%s:%d", m.hash, epoch) }
