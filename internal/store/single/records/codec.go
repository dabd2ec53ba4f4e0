package records

import (
	"encoding/json"
	"fmt"

	"github.com/quorate/quorate/internal/plainjson"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// Decode returns what r holds; the zero value if there is no record.
func Decode[T any](r kv.Record) (T, error) {
	var v T
	if r.Version == 0 {
		return v, nil
	}
	if err := json.Unmarshal(r.Value, &v); err != nil {
		return v, fmt.Errorf("decoding the record %s: %w", r.Key, err)
	}
	return v, nil
}

// Put returns the write that stores v.
func Put[T any](k kv.Key, v T) kv.Write {
	text, _ := plainjson.Marshal(v) // numbers, texts and valid JSON always encode
	return kv.Write{Key: k, Value: text}
}
