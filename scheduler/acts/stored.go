package acts

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/quorate/quorate/internal/plainjson"
)

// form is the version of the stored form of an act. A reader refuses newer ones.
const form = 1

// stored is the JSON of an act with the version of the form.
type stored struct {
	V int `json:"v"`
	Act
}

// Encode returns the stored form of the act. It is for implementations.
func (a Act) Encode() ([]byte, error) {
	text, err := plainjson.Marshal(stored{V: form, Act: a})
	if err != nil {
		return nil, fmt.Errorf("encoding an act: %w", err)
	}
	return text, nil
}

// Decode reads the stored form of an act. It is for implementations.
func Decode(text []byte) (Act, error) {
	var s stored
	if err := json.Unmarshal(text, &s); err != nil {
		return Act{}, fmt.Errorf("decoding an act: %w", err)
	}
	if s.V > form {
		return Act{}, fmt.Errorf("an act has version %d, this release reads up to %d: upgrade quorate", s.V, form)
	}
	if !slices.Contains(Kinds(), s.Kind) {
		return Act{}, fmt.Errorf("an act of kind %.100q is unknown to this release: upgrade quorate", s.Kind)
	}
	return s.Act, nil
}
