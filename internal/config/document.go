package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// parseDocument reads the YAML of a configuration file into the origin of ps
// and returns it as a tree of plain values; false if there is no telling what
// the file says.
func parseDocument(ps *problems, text []byte) (map[string]any, bool) {
	docs, err := documents(text)
	if err != nil {
		ps.addYAML(err)
		return nil, false
	}
	if len(docs) > 1 {
		ps.add(ps.origin.node(docs[1]), nil, "a second YAML document begins here; keep one, without `---` between")
	}
	if len(docs) == 0 || docs[0].Content[0].Tag == "!!null" {
		return nil, true
	}
	root := docs[0].Content[0]
	if root.Kind != yaml.MappingNode {
		what := "a single value"
		if root.Kind == yaml.SequenceNode {
			what = "a list"
		}
		ps.add(ps.origin.node(root), nil, "the file holds "+what+"; write keys and values, such as `namespace: quorate`")
		return nil, false
	}
	dropDuplicates(ps, nil, root)
	var tree map[string]any
	if err := root.Decode(&tree); err != nil {
		ps.addYAML(err)
		return nil, false
	}
	ps.origin.root = root
	return tree, true
}

// documents returns the documents in text, at most two.
func documents(text []byte) (list []*yaml.Node, err error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	for range 2 {
		var doc yaml.Node
		if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		list = append(list, &doc)
	}
	return list, nil
}

// yamlLine finds the line in an error of the YAML parser, which has no type.
var yamlLine = regexp.MustCompile(`line (\d+): `)

// misplaced finds in a line what a message of the YAML parser is about.
var misplaced = map[string]*regexp.Regexp{
	"cannot start any token":         regexp.MustCompile("(?:^[ ]*|[:,] +|- +|[\\[{] *)([\t@`%])"),
	"mapping values are not allowed": regexp.MustCompile(`: .*?(:)(?: |$)`), // the second colon
	"unknown anchor":                 regexp.MustCompile(`(\*)[^ ]`),
}

// addYAML reports an error of the YAML parser. That names a line, often that of something
// around the mistake or the one before, and no column.
func (ps *problems) addYAML(err error) {
	msg, number := splitYAMLError(err)
	lines := bytes.SplitAfter(ps.origin.text, []byte("\n"))
	// The mistake is in the first line with which the text has it.
	first := sort.Search(len(lines), func(i int) bool {
		_, err := documents(bytes.Join(lines[:i+1], nil))
		again, _ := splitYAMLError(err)
		return again == msg
	})
	if first < len(lines) {
		number = first + 1
	}
	where := position{ps.origin.file, number, 1}
	if number <= len(lines) {
		line := lines[number-1]
		at := len(line) - len(bytes.TrimLeft(line, " "))
		for about, pattern := range misplaced {
			if m := pattern.FindSubmatchIndex(line); m != nil && strings.Contains(msg, about) {
				at = m[2]
			}
		}
		where.column = utf8.RuneCount(line[:at]) + 1
	}
	if strings.Contains(msg, "cannot start any token") {
		msg += "; quote text that starts with @, ` or %"
	}
	ps.add(where, nil, "not valid YAML: "+msg+"; check indentation (spaces, no tabs), quotes and colons here and just above")
}

// splitYAMLError returns what an error of the YAML parser says, and the line that it names.
func splitYAMLError(err error) (msg string, line int) {
	if err == nil {
		return "", 1
	}
	msg, line = strings.TrimPrefix(err.Error(), "yaml: "), 1
	if m := yamlLine.FindStringSubmatchIndex(msg); m != nil {
		line, _ = strconv.Atoi(msg[m[2]:m[3]])
		msg = msg[:m[0]] + msg[m[1]:]
	}
	return msg, line
}

// isText reports whether values of the type are written as text.
func isText(t reflect.Type) bool {
	return t != nil && (t.Kind() == reflect.String || t == reflect.TypeFor[time.Time]())
}

// dropDuplicates reports keys that a mapping has twice, with both places,
// and keeps the first, so that the rest of the file is checked too. Keys become
// text on the way: `1:` names the job "1".
func dropDuplicates(ps *problems, p path, node *yaml.Node) {
	switch node.Kind {
	case yaml.ScalarNode:
		// A date without quotes is text where text is wanted.
		if node.Tag == "!!timestamp" && isText(typeAt(p)) {
			node.Tag = "!!str"
		}
	case yaml.SequenceNode:
		for i, item := range node.Content {
			dropDuplicates(ps, p.with(strconv.Itoa(i)), item)
		}
	case yaml.MappingNode:
		kept := node.Content[:0]
		first := map[string]*yaml.Node{}
		for pair := range slices.Chunk(node.Content, 2) {
			key, value := pair[0], pair[1]
			if key.Kind == yaml.ScalarNode && !isMerge(key) {
				key.Tag = "!!str"
				if before := first[key.Value]; before != nil {
					ps.duplicate(p.with(key.Value), key, before)
					continue
				}
				first[key.Value] = key
			}
			dropDuplicates(ps, p.with(key.Value), value)
			kept = append(kept, key, value)
		}
		node.Content = kept
	}
}

func (ps *problems) duplicate(p path, key, before *yaml.Node) {
	what := "the key"
	if len(p) == 2 && p[0] == "jobs" {
		what = "the job"
	}
	ps.add(ps.origin.node(key), p, fmt.Sprintf(
		"%s is defined twice, first at %s:%d:%d; rename or remove one", what, ps.origin.file, before.Line, before.Column))
}

// A path leads to a value of the configuration: keys, and indices of lists in
// decimal.
type path []string

// with returns the path of a member of p.
func (p path) with(steps ...string) path { return append(slices.Clip(p), steps...) }

// within reports whether p is parent, or lies in it.
func (p path) within(parent path) bool {
	return len(p) >= len(parent) && slices.Equal(p[:len(parent)], parent)
}

// String writes p for humans: jobs."nightly.report".params.to[0].
func (p path) String() string {
	var b strings.Builder
	for i, step := range p {
		number := strings.Trim(step, "0123456789") == ""
		switch {
		case number && indexes(p[:i]):
			b.WriteString("[" + step + "]")
			continue
		case i > 0:
			b.WriteByte('.')
		}
		if number || strings.ContainsAny(step, ". \t\n\"'[]:/") {
			step = strconv.Quote(step)
		}
		b.WriteString(step)
	}
	return b.String()
}

// indexes reports whether a number after p is an index. In params it may be a
// key too; nobody is misled there.
func indexes(p path) bool {
	t := typeAt(p)
	return t == nil || t.Kind() == reflect.Slice
}

// A position is where a value was written: a place in the file, or the name of
// an environment variable or flag, which have no lines.
type position struct {
	file         string
	line, column int
}

// An origin remembers where the values of a configuration were written.
// A nil origin knows no place.
type origin struct {
	file       string
	text       []byte         // of the file
	root       *yaml.Node     // nil for an empty file
	tree       map[string]any // the values of the file and of the overrides, references unresolved
	overrides  []override     // in the order they were applied
	files      []string       // that the tree refers to
	referenced string         // hashes of their content
}

// An override is a value from outside the file.
type override struct {
	path  path
	label string // such as "environment variable QUORATE__LOCK__TTL"
	value any    // nil for one of the program: it is in the Config alone
}

// value returns the place of the value at p or, where it was not written, of
// what should hold it.
func (o *origin) value(p path) position { return o.locate(p, false) }

// key returns the place of the key that p ends in.
func (o *origin) key(p path) position { return o.locate(p, true) }

func (o *origin) locate(p path, key bool) position {
	if o == nil {
		return position{}
	}
	if label, ok := o.overridden(p); ok {
		return position{file: label}
	}
	keyNode, node, depth := find(o.root, p)
	switch {
	case node == nil:
		return position{o.file, 1, 1}
	case keyNode != nil && (key || depth < len(p) || node.Kind != yaml.ScalarNode || node.Tag == "!!null"):
		return o.node(keyNode)
	}
	return o.node(node)
}

// node returns the place of a node of the file.
func (o *origin) node(n *yaml.Node) position { return position{o.file, n.Line, n.Column} }

// overridden returns the label of the last override that set p, or something
// around it.
func (o *origin) overridden(p path) (string, bool) {
	for _, set := range slices.Backward(o.overrides) {
		if p.within(set.path) {
			return set.label, true
		}
	}
	return "", false
}

// inside returns the place of a byte of the text at p, or of the text where
// its spelling in the file differs from its value.
func (o *origin) inside(p path, offset int) position {
	where := o.value(p)
	if o == nil || where.line == 0 {
		return where
	}
	_, node, depth := find(o.root, p)
	if node == nil || depth < len(p) || node.Kind != yaml.ScalarNode || offset < 0 || offset > len(node.Value) {
		return where
	}
	if quoted(node) {
		where.column++
	} else if node.Style&^yaml.TaggedStyle != 0 {
		return where
	}
	if strings.ContainsAny(node.Value, "\\'\"\n\t") { // the offset is not that of the file
		return where
	}
	where.column += utf8.RuneCountInString(node.Value[:offset])
	return where
}

// item returns the path of an item of the list at p, or p where it was written
// without a list around it, as jobs of a program are.
func (o *origin) item(p path, i int) path {
	if o == nil {
		return p
	}
	if _, node, depth := find(o.root, p); node != nil && depth == len(p) && unalias(node).Kind == yaml.SequenceNode {
		return p.with(strconv.Itoa(i))
	}
	return p
}

// last is the path of the last value in the file.
func (o *origin) last() path {
	var p path
	for node := o.root; node != nil && len(node.Content) > 0; node = node.Content[len(node.Content)-1] {
		step := strconv.Itoa(len(node.Content) - 1)
		if node.Kind == yaml.MappingNode {
			key := node.Content[len(node.Content)-2]
			if isMerge(key) {
				break
			}
			step = key.Value
		}
		p = p.with(step)
	}
	return p
}

// find walks from root along p as far as it exists. It returns the last node
// reached with its key (nil for the root; for an item of a list, the item
// itself) and how many steps it took.
func find(root *yaml.Node, p path) (key, node *yaml.Node, depth int) {
	node = root
	for node != nil && depth < len(p) {
		k, v := member(node, p[depth])
		if v == nil {
			return key, node, depth
		}
		key, node = k, v
		depth++
	}
	return key, node, depth
}

// member returns the key and value of a step from node, through aliases and
// merge keys. An item of a list is its own key.
func member(node *yaml.Node, step string) (key, value *yaml.Node) {
	node = unalias(node)
	switch node.Kind {
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i]
		}
	case yaml.MappingNode:
		var merged []*yaml.Node // count only for what the mapping itself lacks
		for pair := range slices.Chunk(node.Content, 2) {
			switch key, value := pair[0], unalias(pair[1]); {
			case !isMerge(key) && key.Value == step:
				return key, pair[1]
			case isMerge(key) && value.Kind == yaml.SequenceNode:
				merged = append(merged, value.Content...)
			case isMerge(key):
				merged = append(merged, value)
			}
		}
		for _, m := range merged {
			if key, value := member(m, step); value != nil {
				return key, value
			}
		}
	}
	return nil, nil
}

func unalias(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func isMerge(key *yaml.Node) bool { return key.Tag == "!!merge" }

// beside returns the path of a file that the configuration names, relative to it.
func (o *origin) beside(file string) string {
	if o == nil || file == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(filepath.Dir(o.file), file)
}

// read returns the text of a file that the configuration names, relative to it.
func (o *origin) read(file string) (string, error) {
	text, err := readFile(o.beside(file))
	return string(text), err
}

// readFile is os.ReadFile, but for the name of the file in its error.
func readFile(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return text, err
}
