package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// SignatureHeader carries the signature of a message:
//
//	Quorate-Signature: t=1796040000,v1=5257a869…
//
// t is when the request was made, in seconds since 1970. v1 is the hexadecimal
// HMAC-SHA256, keyed with Config.Secret, of t, a dot and the body.
const SignatureHeader = "Quorate-Signature"

// sign returns the value of SignatureHeader.
func sign(secret string, body []byte, at time.Time) string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	return "t=" + stamp + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}
