package acts

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// DecodeParams reads a JSON object; whole numbers keep all their digits.
func DecodeParams(text json.RawMessage) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var params map[string]any
	if err := d.Decode(&params); err != nil {
		return nil, fmt.Errorf("decoding the params: %w", err)
	}
	return numbers(params).(map[string]any), nil
}

// numbers replaces the numbers in v by int64 or float64.
func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // the decoder has checked it
		return f
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	}
	return v
}
