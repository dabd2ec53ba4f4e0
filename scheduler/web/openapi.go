package web

import (
	"cmp"
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/quorate/quorate/scheduler"
)

// object is a part of the document.
type object = map[string]any

// document returns the OpenAPI document of the routes, and gives each route the
// schema that its body is checked against.
func document(list []route, cfg Config) ([]byte, error) {
	parts := components{schemas: object{}, anonymous: cmp.Or(cfg.Anonymous, AnonymousNone)}
	problemSchema, err := schemaOf(problem{}, false)
	if err != nil {
		return nil, err
	}
	parts.schemas["Problem"] = problemSchema
	paths := object{}
	for i := range list {
		op, err := parts.operation(&list[i])
		if err != nil {
			return nil, err
		}
		item, ok := paths[prefix+list[i].path].(object)
		if !ok {
			item = object{}
			paths[prefix+list[i].path] = item
		}
		item[strings.ToLower(list[i].method)] = op
	}
	paths[prefix+"/events"] = object{"get": parts.eventsOperation("get_events", "What happens from now on, as server-sent events: run, tick, act and replica, each with the row that the listings show.")}
	following := parts.eventsOperation("get_runs_run_events", "What a run logs from now on, as server-sent events: log with text and cut, beat for each extension of its lease, and finished with its row, which is the last. Ids say how far the log was sent.")
	following["parameters"] = []object{
		{"name": "run", "in": "path", "required": true, "schema": object{"type": "string"}},
		{"name": "after", "in": "query", "description": "how many bytes of the log are known", "schema": object{"type": "integer", "minimum": 0}},
	}
	paths[prefix+"/runs/{run}/events"] = object{"get": following}
	return json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Quorate", "version": "1",
			"description": "What a cluster does, and what can be asked of it. Times are RFC 3339 in UTC. Fields may be added; none is taken away or left out.",
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
	anonymous Anonymous // who may read without being a user
}

// named adds the schema of a type under its name and returns a reference to it.
func (c components) named(v any, closed bool) (object, *jsonschema.Schema, error) {
	s, err := schemaOf(v, closed)
	if err != nil {
		return nil, nil, err
	}
	name := typeName(reflect.TypeOf(v))
	c.schemas[name] = s
	return object{"$ref": "#/components/schemas/" + name}, s, nil
}

var generic = regexp.MustCompile(`^(\w+)\[(?:.*\.)?(\w+)\]$`)

// typeName is the name of a type in the document: that of its rows before that of
// the page they are on.
func typeName(t reflect.Type) string {
	name := t.Name()
	if m := generic.FindStringSubmatch(name); m != nil {
		name = m[2] + strings.ToUpper(m[1][:1]) + m[1][1:]
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// operation describes a route.
func (c components) operation(rt *route) (object, error) {
	reply, _, err := c.named(rt.reply, false)
	if err != nil {
		return nil, err
	}
	about := rt.about + " Takes role " + string(rt.role) + "."
	if rt.role == Viewer {
		about = rt.about
	}
	op := object{
		"operationId": operationID(rt), "summary": about, "x-role": rt.role,
		"responses": responses(rt, reply),
	}
	c.open(op, rt.role)
	if params := parameters(rt); len(params) > 0 {
		op["parameters"] = params
	}
	if rt.body != nil {
		ref, schema, err := c.named(rt.body, true)
		if err != nil {
			return nil, err
		}
		rt.bodySchema = schema
		op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": ref}}}
	}
	return op, nil
}

// open says so of an operation that works without a user.
func (c components) open(op object, role Role) {
	if role == Viewer && c.anonymous != AnonymousNone {
		op["security"] = []object{{}, {"token": []string{}}, {"password": []string{}}}
	}
}

// operationID names a route: get_jobs_job_ticks.
func operationID(rt *route) string {
	path := strings.NewReplacer("/", "_", "{", "", "}", "").Replace(rt.path)
	return strings.ToLower(rt.method) + path
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
	if rt.named() {
		list = append(list, object{
			"name": "Idempotency-Key", "in": "header", "schema": short(maxKey),
			"description": "names the act: asking again with the same key is asking once; with another act it is 422",
		})
	}
	return list
}

// named tells whether what is asked for can be given a name: what ends or takes away
// what goes on finds nothing the second time.
func (rt *route) named() bool {
	return rt.kind != "" && rt.kind != scheduler.ActCancel && rt.kind != scheduler.ActRelease
}

// responses lists what a route may answer.
func responses(rt *route, reply object) object {
	all := object{strconv.Itoa(rt.status): object{"description": "done", "content": object{"application/json": object{"schema": reply}}}}
	codes := []int{
		http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
	}
	if rt.body != nil {
		codes = append(codes, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if rt.named() {
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
		"x-role":      Viewer,
		"responses": object{
			"200": object{"description": "events", "content": object{"text/event-stream": object{"schema": object{"type": "string"}}}},
		},
	}
	c.open(op, Viewer)
	return op
}
