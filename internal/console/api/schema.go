package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/ledger"
)

func enum[T ~string](values ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

func listOf(s *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: s}
}

func short(most int) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MaxLength: &most}
}

func timeSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Format: "date-time"}
}

func integer(name, about string, least, most, usual int) param {
	from, to := float64(least), float64(most)
	return param{name: name, about: about, schema: &jsonschema.Schema{
		Type: "integer", Minimum: &from, Maximum: &to, Default: json.RawMessage(strconv.Itoa(usual)),
	}}
}

// schemas has the schemas of types that differ from their Go types.
func schemas() map[reflect.Type]*jsonschema.Schema {
	one, most := 1, acts.MaxText
	two, fewer := 2, 500 // the nodes keep it with the lock
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[ledger.Outcome]():  enum(ledger.Outcomes()...),
		reflect.TypeFor[ledger.Trigger]():  enum(ledger.Triggers()...),
		reflect.TypeFor[ledger.Code]():     enum(ledger.Codes()...),
		reflect.TypeFor[acts.Kind]():       enum(acts.Kinds()...),
		reflect.TypeFor[identity.Role]():   enum(identity.Roles()...),
		reflect.TypeFor[json.RawMessage](): {Types: []string{"object", "null"}, Description: "Overrides the configured params, key by key."},
		reflect.TypeFor[reason]():          {Type: "string", MinLength: &one, MaxLength: &most, Description: "Reason, for the audit log."},
		reflect.TypeFor[duration]():        {Type: "string", Pattern: `^([0-9]{1,6}(ms|s|m|h)){1,4}$`, Examples: []any{"90s", "1h30m"}},
		reflect.TypeFor[instant]():         {Type: "string", Format: "date-time", Examples: []any{"2027-01-01T00:00:00Z"}},
		reflect.TypeFor[takeReason]():      {Type: "string", MinLength: &two, MaxLength: &fewer, Description: "Reason, for the audit log and the run that loses the lock."},
	}
}

// schemaOf returns the schema of a type. Bodies allow no other fields; answers may get more
// in later releases.
func schemaOf(v any, closed bool) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(reflect.TypeOf(v), &jsonschema.ForOptions{TypeSchemas: schemas()})
	if err != nil {
		return nil, fmt.Errorf("describing the API: %w", err)
	}
	allowNull(s, closed)
	return s, nil
}

// allowNull adds null to enums of nullable types, and lets answers have more fields.
func allowNull(s *jsonschema.Schema, closed bool) {
	if s == nil {
		return
	}
	if len(s.Enum) > 0 && slices.Contains(s.Types, "null") {
		s.Enum = append(slices.Clone(s.Enum), nil)
	}
	if s.Properties != nil && !closed {
		s.AdditionalProperties = nil
	}
	if s.Type == "object" && s.Properties == nil && !closed { // a nil map
		s.Type, s.Types = "", []string{"object", "null"}
	}
	for _, p := range s.Properties {
		allowNull(p, closed)
	}
	allowNull(s.Items, closed)
}
