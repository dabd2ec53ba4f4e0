package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/quorate/quorate/internal/console/problem"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/ledger"
)

// object is a part of the document.
type object = map[string]any

// document returns the OpenAPI document, and sets the schema of each route's body.
func document(list []route, cfg Config) ([]byte, error) {
	parts := components{schemas: object{}, anonymous: cmp.Or(cfg.Anonymous, identity.AnonymousNone)}
	problemSchema, err := schemaOf(problem.Problem{}, false)
	if err != nil {
		return nil, err
	}
	parts.schemas["Problem"] = problemSchema
	paths := map[string]object{}
	for i := range list {
		op, err := parts.operation(&list[i])
		if err != nil {
			return nil, err
		}
		path := Prefix + list[i].path
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path][strings.ToLower(list[i].method)] = op
	}
	paths[Prefix+"/events"] = object{"get": parts.eventsOperation("get_events", "New events, as server-sent events: run, tick, act (a command) and replica, each with a row of the listings.")}
	following := parts.eventsOperation("get_runs_run_events", "The log of a run, as server-sent events: log with text and cut, beat for each extension of its lease, and last finished with its row. An event's ID is the position in the log.")
	following["parameters"] = []object{
		{"name": "run", "in": "path", "required": true, "schema": object{"type": "string"}},
		{"name": "after", "in": "query", "description": "Position in the log, in bytes.", "schema": object{"type": "integer", "minimum": 0}},
	}
	paths[Prefix+"/runs/{run}/events"] = object{"get": following}
	return json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Quorate", "version": "1",
			"description": "State of a cluster, and commands on it. Times are RFC 3339 in UTC. New releases may add fields and never remove any.",
		},
		"servers":    []object{{"url": cmp.Or(cfg.BasePath, "/")}},
		"paths":      paths,
		"components": object{"schemas": parts.schemas, "securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}, "password": object{"type": "http", "scheme": "basic"}}},
		"security":   []object{{"token": []string{}}, {"password": []string{}}},
	}, "", "  ")
}

// components are the schemas that operations refer to.
type components struct {
	schemas   object
	anonymous identity.Anonymous
}

// ref adds the schema of a type under its name and returns a reference to it.
func (c components) ref(v any, closed bool) (object, *jsonschema.Schema, error) {
	s, err := schemaOf(v, closed)
	if err != nil {
		return nil, nil, err
	}
	name := typeName(reflect.TypeOf(v))
	c.schemas[name] = s
	return object{"$ref": "#/components/schemas/" + name}, s, nil
}

var generic = regexp.MustCompile(`^(\w+)\[(?:.*\.)?(\w+)\]$`)

// typeName is the name of a type in the document; a page is named after its rows.
func typeName(t reflect.Type) string {
	name := t.Name()
	if m := generic.FindStringSubmatch(name); m != nil {
		name = m[2] + strings.ToUpper(m[1][:1]) + m[1][1:]
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// operation describes a route.
func (c components) operation(rt *route) (object, error) {
	reply, _, err := c.ref(rt.reply, false)
	if err != nil {
		return nil, err
	}
	about := rt.about + " Needs role " + string(rt.role) + "."
	if rt.role == identity.Viewer {
		about = rt.about
	}
	op := object{
		"operationId": strings.ToLower(rt.method) + strings.NewReplacer("/", "_", "{", "", "}", "").Replace(rt.path), "summary": about, "x-role": rt.role,
		"responses": responses(rt, reply),
	}
	c.allowAnonymous(op, rt.role)
	if params := parameters(rt); len(params) > 0 {
		op["parameters"] = params
	}
	if rt.body != nil {
		ref, schema, err := c.ref(rt.body, true)
		if err != nil {
			return nil, err
		}
		rt.bodySchema = schema
		op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": ref}}}
	}
	return op, nil
}

// allowAnonymous marks an operation that needs no user.
func (c components) allowAnonymous(op object, role identity.Role) {
	if role == identity.Viewer && c.anonymous != identity.AnonymousNone {
		op["security"] = []object{{}, {"token": []string{}}, {"password": []string{}}}
	}
}

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

func parameters(rt *route) []object {
	var list []object
	for _, m := range pathParam.FindAllStringSubmatch(rt.path, -1) {
		list = append(list, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, p := range rt.query {
		one := object{"name": p.name, "in": "query", "description": p.about, "schema": p.schema}
		if p.list {
			one["style"], one["explode"] = "form", false
		}
		list = append(list, one)
	}
	if rt.keyed() {
		list = append(list, object{
			"name": "Idempotency-Key", "in": "header", "schema": shortText(maxKey),
			"description": "Names the command: repeating a request with the same key has no further effect; another command with the key is 422.",
		})
	}
	return list
}

// keyed reports whether the command takes an Idempotency-Key. Cancel and release are idempotent
// without one.
func (rt *route) keyed() bool {
	return rt.kind != "" && rt.kind != commands.Cancel && rt.kind != commands.Release
}

// responses lists the responses of a route.
func responses(rt *route, reply object) object {
	all := object{strconv.Itoa(rt.status): object{"description": "done", "content": object{"application/json": object{"schema": reply}}}}
	codes := []int{
		http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
	}
	if rt.body != nil {
		codes = append(codes, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if rt.keyed() {
		codes = append(codes, http.StatusUnprocessableEntity)
	}
	for _, code := range codes {
		all[strconv.Itoa(code)] = object{
			"description": http.StatusText(code),
			"content":     object{"application/problem+json": object{"schema": object{"$ref": "#/components/schemas/Problem"}}},
		}
	}
	return all
}

func (c components) eventsOperation(id, about string) object {
	op := object{
		"operationId": id,
		"summary":     about,
		"x-role":      identity.Viewer,
		"responses": object{
			"200": object{"description": "events", "content": object{"text/event-stream": object{"schema": object{"type": "string"}}}},
		},
	}
	c.allowAnonymous(op, identity.Viewer)
	return op
}

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

func shortText(most int) *jsonschema.Schema {
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
	one, most := 1, commands.MaxText
	two, fewer := 2, 500 // the nodes keep it with the lock
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[ledger.Outcome]():  enum(ledger.Outcomes()...),
		reflect.TypeFor[ledger.Trigger]():  enum(ledger.Triggers()...),
		reflect.TypeFor[ledger.Code]():     enum(ledger.Codes()...),
		reflect.TypeFor[commands.Kind]():   enum(commands.Kinds()...),
		reflect.TypeFor[identity.Role]():   enum(identity.Roles()...),
		reflect.TypeFor[json.RawMessage](): {Types: []string{"object", "null"}, Description: "Overrides the configured params, key by key."},
		reflect.TypeFor[reason]():          {Type: "string", MinLength: &one, MaxLength: &most, Description: "Reason, for the audit log."},
		reflect.TypeFor[duration]():        {Type: "string", Pattern: `^([0-9]{1,6}(ms|s|m|h)){1,4}$`, Examples: []any{"90s", "1h30m"}},
		reflect.TypeFor[instant]():         {Type: "string", Format: "date-time", Examples: []any{"2027-01-01T00:00:00Z"}},
		reflect.TypeFor[releaseReason]():   {Type: "string", MinLength: &two, MaxLength: &fewer, Description: "Reason, for the audit log and the run that loses the lock."},
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
