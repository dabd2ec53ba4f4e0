package membership

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// membership describes the list of nodes in every request.
type membership struct {
	names string // sorted, joined by spaces; stored on nodes for messages
	hash  string
}

func newMembership(names []string) membership {
	sorted := slices.Sorted(slices.Values(names))
	sum := sha256.Sum256([]byte(strings.Join(sorted, "\n")))
	return membership{names: strings.Join(sorted, " "), hash: hex.EncodeToString(sum[:16])}
}
