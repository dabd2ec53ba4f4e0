// Package plainjson writes JSON without the escapes that only HTML needs. They make texts up to
// six times as long, which counts where JSON is stored, bounded or compared.
package plainjson

import (
	"bytes"
	"encoding/json"
)

// Marshal is json.Marshal with <, > and & as they are, in a json.RawMessage, too.
func Marshal(v any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}
