package acts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// KeyID is the ID of the act for a user's key, such as the Idempotency-Key of a request. It
// is a hash: no key makes the ID of another user's act, or of the scheduler's own.
func KeyID(user, key string) string {
	return "key-" + shortHash(fmt.Sprintf("%d %s %s", len(user), user, key))
}

// Fingerprint distinguishes acts with the same ID: it is a hash of the contents without ID,
// By, At, Result and Closed. The act must be Ready.
func (a Act) Fingerprint() string {
	a.ID, a.By, a.At, a.Result, a.Closed = "", "", time.Time{}, "", time.Time{}
	text, _ := json.Marshal(a) // a ready act can be encoded
	return shortHash(string(text))
}

// shortHash is 128 bits of a hash, enough against collisions.
func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// A ReusedIDError is the error for an act whose ID belongs to another act with other
// contents.
type ReusedIDError struct{ ID string }

// Error is the message.
func (e *ReusedIDError) Error() string {
	return "the id " + e.ID + " was used for another act; choose a new one"
}
