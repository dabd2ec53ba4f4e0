package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

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
	tree       map[string]any // what was written, in the file and elsewhere: with references
	overrides  []override     // in the order they were applied
	files      []string       // that it refers to
	referenced string         // hashes of their content
}

// An override is a value from outside the file.
type override struct {
	path  path
	label string // such as "environment variable QUORATE__LOCK__TTL"
}

// Program notes that the value at the path is no longer that of the file.
func (c *Config) Program(at ...string) {
	if c.origin != nil {
		noted := *c.origin
		noted.overrides = append(slices.Clip(noted.overrides), override{at, "the program"})
		c.origin = &noted
	}
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
	where := position{file: o.file, line: 1, column: 1}
	keyNode, node, depth := find(o.root, p)
	switch {
	case node == nil:
	case keyNode != nil && (key || depth < len(p) || node.Kind != yaml.ScalarNode || node.Tag == "!!null"):
		where.line, where.column = keyNode.Line, keyNode.Column
	default:
		where.line, where.column = node.Line, node.Column
	}
	return where
}

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
	switch node.Style &^ yaml.TaggedStyle {
	case 0:
	case yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle:
		where.column++
	default:
		return where
	}
	if strings.ContainsAny(node.Value, "\\'\"\n\t") {
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

// read returns the text of a file named in the configuration, relative to it.
func (o *origin) read(file string) (string, error) {
	if o != nil && !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(o.file), file)
	}
	text, err := os.ReadFile(file)
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return string(text), err
}

// last is the path of what stands last in the file.
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
// merge keys.
func member(node *yaml.Node, step string) (key, value *yaml.Node) {
	node = unalias(node)
	if node.Kind == yaml.SequenceNode {
		i, err := strconv.Atoi(step)
		if err != nil || i < 0 || i >= len(node.Content) {
			return nil, nil
		}
		return node.Content[i], node.Content[i]
	}
	if node.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if k := node.Content[i]; k.Value == step && !isMerge(k) {
			return k, node.Content[i+1]
		}
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if isMerge(node.Content[i]) {
			if k, v := mergedMember(node.Content[i+1], step); v != nil {
				return k, v
			}
		}
	}
	return nil, nil
}

// mergedMember looks into the mapping, or list of mappings, of a merge key.
func mergedMember(merged *yaml.Node, step string) (key, value *yaml.Node) {
	merged = unalias(merged)
	if merged.Kind != yaml.SequenceNode {
		return member(merged, step)
	}
	for _, m := range merged.Content {
		if k, v := member(m, step); v != nil {
			return k, v
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
