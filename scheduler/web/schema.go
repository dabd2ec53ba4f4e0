package web

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/quorate/quorate/scheduler"
)

func outcomes() []any {
	return []any{
		string(scheduler.Running), string(scheduler.Succeeded), string(scheduler.Failed), string(scheduler.TimedOut),
		string(scheduler.LeaseLost), string(scheduler.Interrupted), string(scheduler.Cancelled), string(scheduler.Skipped), string(scheduler.Missed),
	}
}

func codes() []any {
	var list []any
	for _, c := range scheduler.Codes() {
		list = append(list, string(c))
	}
	return list
}

func acts() []any {
	return []any{
		string(scheduler.ActTrigger), string(scheduler.ActBackfill), string(scheduler.ActCancel), string(scheduler.ActPause),
		string(scheduler.ActResume), string(scheduler.ActRelease),
	}
}

func triggers() []any {
	return []any{
		string(scheduler.BySchedule), string(scheduler.ByCatchUp), string(scheduler.ByRerun), string(scheduler.ByManual),
		string(scheduler.ByBackfill), string(scheduler.ByChain),
	}
}

func kinds() []any {
	return []any{
		string(scheduler.ActTrigger), string(scheduler.ActBackfill), string(scheduler.ActCancel), string(scheduler.ActPause),
		string(scheduler.ActResume), string(scheduler.ActRelease),
	}
}

func enumOf(values []any) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: values}
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

// schemas describes the types that are not what they look like in Go.
func schemas() map[reflect.Type]*jsonschema.Schema {
	one, most := 1, scheduler.MaxActText
	two, fewer := 2, 500 // the nodes keep it beside the lock
	role := &jsonschema.Schema{Type: "string"}
	for _, r := range Roles() {
		role.Enum = append(role.Enum, string(r))
	}
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[scheduler.Outcome](): enumOf(outcomes()),
		reflect.TypeFor[scheduler.Trigger](): enumOf(triggers()),
		reflect.TypeFor[scheduler.Code]():    enumOf(codes()),
		reflect.TypeFor[scheduler.ActKind](): enumOf(kinds()),
		reflect.TypeFor[Role]():              role,
		reflect.TypeFor[json.RawMessage]():   {Types: []string{"object", "null"}, Description: "a JSON object; goes before the params of the configuration, key by key"},
		reflect.TypeFor[reason]():            {Type: "string", MinLength: &one, MaxLength: &most, Description: "why, for the audit log"},
		reflect.TypeFor[duration]():          {Type: "string", Pattern: `^([0-9]{1,6}(ms|s|m|h)){1,4}$`, Examples: []any{"90s", "1h30m"}},
		reflect.TypeFor[instant]():           {Type: "string", Format: "date-time", Examples: []any{"2027-01-01T00:00:00Z"}},
		reflect.TypeFor[takeReason]():        {Type: "string", MinLength: &two, MaxLength: &fewer, Description: "why, for the audit log and the run that loses the lock"},
	}
}

// schemaOf describes a type. What is sent is closed, what is answered may have more
// fields in later releases.
func schemaOf(v any, closed bool) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(reflect.TypeOf(v), &jsonschema.ForOptions{TypeSchemas: schemas()})
	if err != nil {
		return nil, fmt.Errorf("describing the API: %w", err)
	}
	mend(s, closed)
	return s, nil
}

// mend lets null be one of the values where it is one of the types, and opens
// objects that are answers.
func mend(s *jsonschema.Schema, closed bool) {
	if s == nil {
		return
	}
	if len(s.Enum) > 0 && slices.Contains(s.Types, "null") {
		s.Enum = append(slices.Clone(s.Enum), nil)
	}
	if s.Properties != nil && !closed {
		s.AdditionalProperties = nil
	}
	if s.Type == "object" && s.Properties == nil && !closed { // a map may be nil
		s.Type, s.Types = "", []string{"object", "null"}
	}
	for _, p := range s.Properties {
		mend(p, closed)
	}
	mend(s.Items, closed)
}
