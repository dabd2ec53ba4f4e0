package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
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
	root, ok := parseNode(ps, text)
	if !ok || root == nil || root.Tag == "!!null" {
		return nil, ok
	}
	if root.Kind != yaml.MappingNode {
		ps.add(position{ps.origin.file, root.Line, root.Column}, nil, "the file holds "+kindOf(root)+"; write keys and values, such as `namespace: quorate`")
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

// parseNode returns the content of the only document in text; nil if empty.
func parseNode(ps *problems, text []byte) (*yaml.Node, bool) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, true
	case err != nil:
		ps.addYAML(err)
		return nil, false
	}
	switch err := dec.Decode(&more); {
	case errors.Is(err, io.EOF):
	case err != nil:
		ps.addYAML(err)
		return nil, false
	default:
		ps.add(position{ps.origin.file, more.Line, more.Column}, nil, "a second YAML document begins here; keep one, without `---` between")
	}
	return doc.Content[0], true
}

// yamlLine finds the line in an error of the YAML parser, which has no type.
var yamlLine = regexp.MustCompile(`line (\d+): `)

// What the message of the YAML parser is about: what begins a value and must not, the second colon
// of a line, and an alias.
var (
	noToken     = regexp.MustCompile("(?:^[ ]*|[:,] +|- +|[\\[{] *)([\t@`%])")
	secondColon = regexp.MustCompile(`: .*?(:)(?: |$)`)
	alias       = regexp.MustCompile(`(\*)[^ ]`)
)

// addYAML reports an error of the YAML parser. That names a line, often that of something
// around the mistake or the one before, and no column.
func (ps *problems) addYAML(err error) {
	text := ps.origin.text
	msg, number := splitYAMLError(err)
	lines := bytes.SplitAfter(text, []byte("\n"))
	ends := make([]int, len(lines)+1) // ends[i] is the length of the first i lines
	for i, line := range lines {
		ends[i+1] = ends[i] + len(line)
	}
	// The mistake is in the first line with which the text has it.
	first := sort.Search(len(lines), func(i int) bool {
		again, _ := splitYAMLError(yamlError(text[:ends[i+1]]))
		return again == msg
	})
	if first < len(lines) {
		number = first + 1
	}
	where := position{ps.origin.file, number, 1}
	if number <= len(lines) {
		line := lines[number-1]
		at := len(line) - len(bytes.TrimLeft(line, " "))
		for about, pattern := range map[string]*regexp.Regexp{"cannot start any token": noToken, "mapping values are not allowed": secondColon, "unknown anchor": alias} {
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

// yamlError returns what is wrong with a text.
func yamlError(text []byte) error {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc yaml.Node
		if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// isText reports whether values of the type are written as text.
func isText(t reflect.Type) bool {
	return t != nil && (t.Kind() == reflect.String || t == reflect.TypeFor[time.Time]())
}

// dropDuplicates reports keys that stand twice in a mapping, with both places,
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
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
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
	ps.add(position{ps.origin.file, key.Line, key.Column}, p, fmt.Sprintf(
		"%s is defined twice, first at %s:%d:%d; rename or remove one", what, ps.origin.file, before.Line, before.Column))
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	default:
		return "a single value"
	}
}
