package acts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// KeyID is the ID of the act that a user names with a key, such as the
// Idempotency-Key of a request. It is a hash: no key makes the ID of another user's
// act, nor one that the scheduler makes itself.
func KeyID(user, key string) string {
	return "key-" + shortHash(fmt.Sprintf("%d %s %s", len(user), user, key))
}

// Fingerprint tells acts with the same ID apart: it is that of the contents, but for
// ID, By, At, Result and Closed. The act must be Ready.
func (a Act) Fingerprint() string {
	a.ID, a.By, a.At, a.Result, a.Closed = "", "", time.Time{}, "", time.Time{}
	text, _ := json.Marshal(a) // an act that is ready can be encoded
	return shortHash(string(text))
}

// shortHash is 128 bits of a hash, which nobody finds twice.
func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// A ReusedIDError is the error for an act whose ID is that of another one, with other
// contents.
type ReusedIDError struct{ ID string }

// Error is the message.
func (e *ReusedIDError) Error() string {
	return "the id " + e.ID + " was used for another act; choose a new one"
}
