package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// SignatureHeader carries the signature of a message:
//
//	Quorate-Signature: t=1796040000,v1=5257a869…
//
// t is when the request was made, in seconds since 1970. v1 is the hexadecimal
// HMAC-SHA256, keyed with Config.Secret, of t, a dot and the body.
const SignatureHeader = "Quorate-Signature"

// ErrSignature is wrapped by what Verify returns.
var ErrSignature = errors.New("webhook: the signature is not valid")

// sign returns the value of SignatureHeader.
func sign(secret string, body []byte, at time.Time) string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	return "t=" + stamp + ",v1=" + hex.EncodeToString(sum(secret, stamp, body))
}

func sum(secret, stamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	return mac.Sum(nil)
}

// Verify is for receivers. It returns an error unless the header signs the body with the
// secret, at most tolerance before or after now. The tolerance stops replays of old
// messages.
func Verify(secret, header string, body []byte, now time.Time, tolerance time.Duration) error {
	var stamp string
	var given []byte
	for part := range strings.SplitSeq(header, ",") {
		switch key, value, _ := strings.Cut(part, "="); key {
		case "t":
			stamp = value
		case "v1":
			given, _ = hex.DecodeString(value) // an invalid signature equals none
		}
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	switch {
	case secret == "":
		return fmt.Errorf("%w: there is no secret to check it with", ErrSignature)
	case err != nil || !hmac.Equal(given, sum(secret, stamp, body)):
		return fmt.Errorf("%w: it was not made with this secret for this body", ErrSignature)
	case now.Sub(time.Unix(seconds, 0)).Abs() > tolerance:
		return fmt.Errorf("%w: it was made at %s", ErrSignature, time.Unix(seconds, 0).UTC().Format(time.RFC3339))
	}
	return nil
}
