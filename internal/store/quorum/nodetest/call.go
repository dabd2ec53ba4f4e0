package nodetest

import "strings"

// A call is one run of a script.
type call struct {
	n          *Node
	script     string
	keys, args []string
	now        float64
	// Set by memory, in ms: since when the node remembers, until when it abstains,
	// and the restart grace.
	since, floor, grace float64
	id                  string
}

// header is the number of arguments that all requests of a client share, see
// header.lua.
const header = 4

// The positions of the header's values in args.
const (
	argName = iota
	argMembers
	argEpoch
	argGrace
	argFormat
	argDurable
	argEmbedded
	argSealed
	argTTL
	headArgs
)

// taken splits the header's arguments.
func taken(args []string) ([]string, error) {
	if len(args) < header {
		return nil, scriptError("%d arguments are too few", len(args))
	}
	all := append(make([]string, 0, len(args)+headArgs-header), strings.Fields(args[0])...)
	if len(all) != argDurable {
		return nil, scriptError("%q is not what a node is for", args[0])
	}
	for _, letter := range []string{"d", "e", "s"} {
		all = append(all, flag(strings.Contains(args[2], letter)))
	}
	return append(all, args[3:]...), nil
}

// arg returns the i-th argument of the rule itself, counted from 1; empty if missing.
func (c *call) arg(i int) string {
	if i = headArgs + i - 1; i < len(c.args) {
		return c.args[i]
	}
	return ""
}

// rest returns the arguments of the rule from the i-th on.
func (c *call) rest(i int) []string {
	if i = headArgs + i - 1; i < len(c.args) {
		return c.args[i:]
	}
	return nil
}

func (c *call) is(arg int) bool { return c.args[arg] == "1" }

// refuse returns a refusal.
func (c *call) refuse(what, held string) []string {
	return []string{"CONFIG", digits(c.now), what, held}
}

func answer(code string, args ...string) ([]string, error) {
	return append([]string{code}, args...), nil
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
