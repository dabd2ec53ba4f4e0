package nodetest

// A call is one run of a script.
type call struct {
	n          *Node
	keys, args []string
	now        float64
	// Of the node, once incarnation has looked: since when it remembers, up to
	// when it abstains, the restart grace. In ms.
	since, floor, grace float64
	id                  string
}

// What every request says first, the places of it in args.
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

// arg returns the i-th argument of the rule itself, counted from 1; none is
// empty.
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

// refuse is an answer that is no vote.
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
