package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers by which receivers check a message. Their names, and the form of secrets and
// signatures, are those of Standard Webhooks 1.0: https://www.standardwebhooks.com.
const (
	idHeader        = "Webhook-Id"        // Message.ID
	timestampHeader = "Webhook-Timestamp" // when the request was made, in seconds since 1970
	signatureHeader = "Webhook-Signature" // for each secret v1, a comma and base64; separated by spaces
)

// A secret is secretPrefix and a key of leastKey to mostKey bytes in base64.
const (
	secretPrefix = "whsec_"
	leastKey     = 24
	mostKey      = 64
)

// keysOf returns the keys of a configured secret. While a secret is replaced, the text has the
// new one and the old one, with blanks or line breaks between. The error does not show the text.
func keysOf(text string) ([][]byte, error) {
	secrets := strings.Fields(text)
	if len(secrets) == 0 {
		return nil, errors.New("is empty, so messages would not be signed; set it, or remove the secret")
	}
	keys := make([][]byte, len(secrets))
	for i, secret := range secrets {
		var err error
		if keys[i], err = keyOf(secret); err != nil && len(secrets) > 1 {
			err = fmt.Errorf("secret %d of %d %w", i+1, len(secrets), err)
		}
		if err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// keyOf returns the key of one secret.
func keyOf(secret string) ([]byte, error) {
	const instead = "write what this prints: echo whsec_$(openssl rand -base64 32)"
	encoded, is := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	switch {
	case !is:
		return nil, errors.New("does not begin with " + secretPrefix + "; " + instead)
	case err != nil:
		return nil, errors.New("has no base64 after " + secretPrefix + "; " + instead)
	case len(key) < leastKey || len(key) > mostKey:
		return nil, fmt.Errorf("has a key of %d bytes, not of %d to %d; %s", len(key), leastKey, mostKey, instead)
	}
	return key, nil
}

// CheckSecret returns an error, without the text, for what is no secret to sign with.
func CheckSecret(text string) error {
	_, err := keysOf(text)
	return err
}

// sign sets the headers by which receivers check a message that is sent now.
func sign(header http.Header, keys [][]byte, id string, body []byte) {
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	header.Set(idHeader, id)
	header.Set(timestampHeader, timestamp)
	if len(keys) > 0 {
		header.Set(signatureHeader, signatures(keys, id, timestamp, body))
	}
}

// signatures returns the value of signatureHeader.
func signatures(keys [][]byte, id, timestamp string, body []byte) string {
	all := make([]string, len(keys))
	for i, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + timestamp + "."))
		mac.Write(body)
		all[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(all, " ")
}
