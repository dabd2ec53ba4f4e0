package nodes

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Defaults of a Config.
const (
	DefaultNamespace = "quorate"
	DefaultTimeout   = 200 * time.Millisecond
	DefaultGrace     = 20 * time.Second
	DefaultTTL       = 15 * time.Second
	// DefaultCheckEvery is half the default grace.
	DefaultCheckEvery = 10 * time.Second
)

// A Config says which nodes form the cluster and how to reach them.
type Config struct {
	// Namespace is the prefix of every key. Replicas with the same namespace
	// and nodes form one cluster.
	Namespace string
	// Nodes are 1, 3, 5 or 7 independent masters.
	Nodes []NodeConfig
	// Cell is what these nodes are called among the several groups that divide the
	// names between them, and Cells what all of those are called, this one included:
	// clients that know other cells are refused, for they would look for a name
	// elsewhere. Empty: these nodes decide on all names.
	Cell  string
	Cells []string
	// Username and Password are for nodes whose URL names none.
	Username string
	Password string
	// TLS is for nodes with a rediss:// URL; the server name defaults to the
	// URL's host.
	TLS *tls.Config

	// Timeout bounds each call to a node. It must be below TTL/4.
	Timeout time.Duration
	// Grace is how long a node that restarted abstains. It is stored on the
	// nodes, and every replica must name the same.
	Grace time.Duration
	// TTL is the length of a lease. It must be below Grace, since a node that
	// lost its memory must not vote while a lease it has forgotten lasts.
	TTL time.Duration
	// CheckEvery is how long Run leaves a node alone that nobody has called. A
	// restart is noticed at the next call, and its grace begins only then.
	CheckEvery time.Duration
	// Durable is the operator's word that no node forgets what it accepted:
	// appendfsync always, and no failover. A restart then costs no grace.
	Durable bool
	// Embedded allows nodes that cannot tell their run_id because they live in
	// this process. For development and tests.
	Embedded bool

	// Dial replaces the network, for tests.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Transport replaces the network and everything that belongs to Redis, for
	// simulations.
	Transport Transport
	// Observer is told what happens to nodes.
	Observer Observer
}

// A NodeConfig is one entry of the list of nodes.
type NodeConfig struct {
	// Name is what membership compares: the host:port of the URL in lower case
	// unless set.
	Name string
	// URL is redis://host:port, or rediss:// for TLS, with user:password@ for
	// an ACL user of its own; valkey:// and valkeys:// mean the same.
	URL string
}

// String returns the name and the URL without secrets.
func (c NodeConfig) String() string {
	u, err := parseURL(c.URL)
	if err != nil {
		return c.Name + " (" + err.Error() + ")"
	}
	return strings.TrimSpace(c.Name + " " + u.redacted)
}

// String names the namespace and the nodes, without secrets.
func (c Config) String() string { return fmt.Sprintf("%s on %v", c.Namespace, c.Nodes) }

// An Observer is told what happens to nodes. Each function may be nil, and must
// return quickly.
type Observer struct {
	// Down: the node stopped answering; it is skipped until it is Up.
	Down func(node string, err error)
	// Up: a node that was down answers again.
	Up func(node string)
	// Formatted: the node was blank and has joined; it abstains until then, by
	// the local clock.
	Formatted func(node string, until time.Time)
	// Restarted: the node came back with its memory in doubt; it abstains until
	// then, by the local clock.
	Restarted func(node string, until time.Time)
	// Skewed: a clock stands apart from the others' by more than a quarter of
	// the grace (positive: it is ahead), or no longer does (zero). It is the
	// node's, or that of this process if node is empty. Nodes refuse requests
	// that lie more than half of the grace ahead of their own clocks.
	Skewed func(node string, by time.Duration)
	// Replied: a call of a rule has ended: with the node's reply, or with why there
	// is none. It is told of every call, and costs those who wait for them.
	Replied func(rule string, r Reply)
	// Warn: the node works, but is set up in a way that will cost something.
	Warn func(node, text string)
}

// WithDefaults returns a copy of c whose unset fields hold their defaults.
func (c Config) WithDefaults() Config {
	if c.Namespace == "" {
		c.Namespace = DefaultNamespace
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	if c.TTL == 0 {
		c.TTL = DefaultTTL
	}
	if c.CheckEvery == 0 {
		c.CheckEvery = DefaultCheckEvery
	}
	c.Nodes = slices.Clone(c.Nodes)
	for i, n := range c.Nodes {
		if u, err := parseURL(n.URL); err == nil && n.Name == "" {
			c.Nodes[i].Name = u.addr
		}
	}
	return c
}

// Names and namespaces end up in keys and lists.
var (
	namespaceRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$`)
	nodeNameRE  = regexp.MustCompile(`^[A-Za-z0-9\[][A-Za-z0-9._:%\[\]-]{0,254}$`)
)

// Validate reports everything that is wrong with c, joined. It expects the
// defaults to be filled in. No message holds a password.
func (c Config) Validate() error {
	var errs []error
	if !namespaceRE.MatchString(c.Namespace) {
		errs = append(errs, fmt.Errorf("namespace %q: use up to 64 letters, digits and . _ : -, starting with a letter or digit", c.Namespace))
	}
	if n := len(c.Nodes); n != 1 && n != 3 && n != 5 && n != 7 {
		errs = append(errs, fmt.Errorf("%d nodes: list 1, 3, 5 or 7 (an even number survives no more failures than one less)", n))
	}
	errs = append(errs, c.validateCells())
	errs = append(errs, c.validateTimes()...)
	errs = append(errs, validateNodes(c.Nodes)...)
	return errors.Join(errs...)
}

func (c Config) validateTimes() []error {
	var errs []error
	if c.TTL <= 0 || c.TTL%time.Millisecond != 0 {
		errs = append(errs, fmt.Errorf("ttl %v: use a positive whole number of milliseconds", c.TTL))
	}
	if c.Grace%time.Millisecond != 0 {
		errs = append(errs, fmt.Errorf("grace %v: use a whole number of milliseconds", c.Grace))
	}
	if c.TTL >= c.Grace {
		errs = append(errs, fmt.Errorf("ttl %v must be below the restart grace %v", c.TTL, c.Grace))
	}
	if c.Timeout <= 0 || c.Timeout >= c.TTL/4 {
		errs = append(errs, fmt.Errorf("node timeout %v must be positive and below a quarter of the ttl, %v", c.Timeout, c.TTL/4))
	}
	return errs
}

func validateNodes(list []NodeConfig) []error {
	var errs []error
	names, addrs := map[string]int{}, map[string]int{}
	for i, n := range list {
		u, err := parseURL(n.URL)
		if err != nil {
			errs = append(errs, fmt.Errorf("node %d: %w", i+1, err))
			continue
		}
		if !nodeNameRE.MatchString(n.Name) {
			errs = append(errs, fmt.Errorf("node %d: name %q: use letters, digits and . _ : -", i+1, n.Name))
		}
		if j, taken := addrs[u.addr]; taken {
			errs = append(errs, fmt.Errorf("nodes %d and %d have the same address %s: each must be a Redis of its own", j, i+1, u.addr))
		} else if j, taken := names[strings.ToLower(n.Name)]; taken {
			errs = append(errs, fmt.Errorf("nodes %d and %d have the same name %q", j, i+1, n.Name))
		}
		addrs[u.addr], names[strings.ToLower(n.Name)] = i+1, i+1
	}
	return errs
}
