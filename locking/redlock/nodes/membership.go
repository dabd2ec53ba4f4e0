package nodes

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// FormatVersion is the version of what this release stores on nodes. Nodes with
// a newer one are refused.
const FormatVersion = 1

// firstEpoch is the epoch of a list that was never changed.
const firstEpoch = 0

// membership is what every request tells a node about the cluster it is for.
type membership struct {
	names string // sorted, joined by a space; kept on the node to be shown
	hash  string
}

func newMembership(names []string) membership {
	sorted := slices.Sorted(slices.Values(names))
	sum := sha256.Sum256([]byte(strings.Join(sorted, "\n")))
	return membership{names: strings.Join(sorted, " "), hash: hex.EncodeToString(sum[:16])}
}
