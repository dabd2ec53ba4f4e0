package membership

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/locking"
)

// Defaults of a Config.
const (
	DefaultNamespace = "quorate"
	DefaultTimeout   = 200 * time.Millisecond
	DefaultGrace     = 20 * time.Second
	DefaultTTL       = locking.DefaultTTL
	// DefaultCheckEvery is half the default grace.
	DefaultCheckEvery = 10 * time.Second
)

// A Config says which nodes form the cluster and how to reach them.
type Config struct {
	// Namespace is the prefix of every key, in braces. Replicas with the same namespace
	// and nodes form one cluster.
	Namespace string
	// Nodes are 1, 3, 5 or 7 independent masters.
	Nodes []NodeConfig
	// Username and Password are for nodes whose URL names none.
	Username string
	Password string
	// Credentials, if not nil, returns the user and the password of a new connection, in place of those two.
	Credentials func(ctx context.Context) (username, password string, err error)
	// TLS is for nodes with a rediss:// URL. The server name defaults to the URL's
	// host.
	TLS *tls.Config
	// Fresh, if not nil, reads the configuration anew. It is called for each connection, which
	// takes users, passwords and TLS from it.
	Fresh func() (Config, error)

	// Timeout bounds each call to a node. It must be below TTL/4.
	Timeout time.Duration
	// Grace is how long a restarted node abstains. The nodes store it, and every
	// replica must set the same.
	Grace time.Duration
	// TTL is the length of a lease. It must be below Grace: a node that lost its memory
	// must not vote while a lease lasts that it has forgotten.
	TTL time.Duration
	// CheckEvery is how long Run waits before it calls an idle node. A restart is
	// noticed at the next call, and its grace begins only then.
	CheckEvery time.Duration
	// Durable asserts that no node forgets what it accepted: appendfsync always, and no
	// failover that loses anything. A restarted node then votes at once.
	Durable bool
	// Copies is how many replicas the server of a single node has. A claim or an extension
	// counts only when all of them have it, so any of them may take the server's place.
	Copies int
	// Embedded allows nodes inside this process, which have no run_id. For development
	// and tests.
	Embedded bool

	// Dial replaces the network, for tests.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Transport replaces the network and Redis itself, for simulations.
	Transport client.Transport
	// Observer is told about changes of nodes.
	Observer Observer
}

// A NodeConfig is one entry of the list of nodes.
type NodeConfig struct {
	// Name identifies the node in the list. Default: the URL's host:port in lower case.
	Name string
	// URL is redis://host:port, or rediss:// for TLS, with user:password@ for its own
	// ACL user. valkey:// and valkeys:// mean the same.
	URL string
	// Client, if not nil, replaces the URL. Its settings are used with new connections.
	Client redis.UniversalClient
	// Master, if set, is what Sentinels at the URLs in Seeds call the master. Seeds without
	// a Master are URLs of servers of a Redis Cluster. Both stand for the URL.
	Master string
	Seeds  []string
}

// SingleName is the usual name of a node that is the whole store.
const SingleName = "redis"

// address returns the node's address and settings.
func (c NodeConfig) address() (client.URL, error) {
	switch {
	case c.Client != nil:
		return client.URLOf(c.Client)
	case c.Master != "":
		return client.SentinelURL(c.Master, c.Seeds)
	case c.Seeds != nil:
		return client.ClusterURL(c.Seeds)
	}
	return client.ParseURL(c.URL)
}

// String returns the name and the URL without secrets.
func (c NodeConfig) String() string {
	u, err := c.address()
	if err != nil {
		return c.Name + " (" + err.Error() + ")"
	}
	return strings.TrimSpace(c.Name + " " + u.Redacted)
}

// String names the namespace and the nodes, without secrets.
func (c Config) String() string { return fmt.Sprintf("%s on %v", c.Namespace, c.Nodes) }

// An Observer is told about changes of nodes. Each function may be nil, and must return
// quickly.
type Observer struct {
	// Down: the node stopped answering; it is skipped until it is Up.
	Down func(node string, err error)
	// Up: a node that was down answers again.
	Up func(node string)
	// Formatted: the node was blank and has joined. It abstains until then, by the
	// local clock.
	Formatted func(node string, until time.Time)
	// Restarted: the node may have lost its memory, for the reason that why states. It abstains until
	// then, by the local clock.
	Restarted func(node, why string, until time.Time)
	// Skewed: a clock deviates from the others by more than a quarter of the grace
	// (positive: it is ahead), or no longer does (zero). An empty node means the clock
	// of this process. Nodes refuse requests more than half of the grace ahead of their
	// clocks.
	Skewed func(node string, by time.Duration)
	// Replied: a call of a rule has ended, with the node's reply or an error. It is
	// called for every call, and delays its caller.
	Replied func(rule string, r Reply)
	// Warn: the node works, but its settings will cause trouble.
	Warn func(node, text string)
}

// WithDefaults returns a copy of c whose unset fields hold their defaults.
func (c Config) WithDefaults() Config {
	c.Namespace = cmp.Or(c.Namespace, DefaultNamespace)
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	c.Grace = cmp.Or(c.Grace, DefaultGrace)
	c.TTL = cmp.Or(c.TTL, DefaultTTL)
	c.CheckEvery = cmp.Or(c.CheckEvery, DefaultCheckEvery)
	c.Nodes = slices.Clone(c.Nodes)
	for i, n := range c.Nodes {
		if u, err := n.address(); err == nil && n.Name == "" {
			c.Nodes[i].Name = u.Addr
		}
	}
	return c
}

// Names and namespaces become part of keys and lists.
var (
	namespaceRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$`)
	nodeNameRE  = regexp.MustCompile(`^[A-Za-z0-9\[][A-Za-z0-9._:%\[\]-]{0,254}$`)
)

// CheckNamespace reports an invalid namespace. Braces would end the hash tag of its
// keys early.
func CheckNamespace(name string) error {
	if namespaceRE.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%q is not a namespace; use up to 64 letters, digits and . _ : -, starting with a letter or digit", name)
}

// Validate reports everything that is wrong with c, joined. The defaults must be filled
// in. No message contains a password.
func (c Config) Validate() error {
	errs := []error{CheckNamespace(c.Namespace)}
	if n := len(c.Nodes); n != 1 && n != 3 && n != 5 && n != 7 {
		errs = append(errs, fmt.Errorf("%d nodes: list 1, 3, 5 or 7 (an even number survives no more failures than one less)", n))
	}
	if c.Copies < 0 || c.Copies > 0 && len(c.Nodes) != 1 {
		errs = append(errs, fmt.Errorf("%d copies: only a single node may have replicas; write their number, or 0", c.Copies))
	}
	return errors.Join(slices.Concat(errs, c.validateTimes(), validateNodes(c.Nodes))...)
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
		u, err := n.address()
		if err != nil {
			errs = append(errs, fmt.Errorf("node %d: %w", i+1, err))
			continue
		}
		if !nodeNameRE.MatchString(n.Name) {
			errs = append(errs, fmt.Errorf("node %d: name %q: use letters, digits and . _ : -", i+1, n.Name))
		}
		if j, taken := addrs[u.Addr]; taken {
			errs = append(errs, fmt.Errorf("nodes %d and %d have the same address %s: each must be a Redis of its own", j, i+1, u.Addr))
		} else if j, taken := names[strings.ToLower(n.Name)]; taken {
			errs = append(errs, fmt.Errorf("nodes %d and %d have the same name %q", j, i+1, n.Name))
		}
		addrs[u.Addr], names[strings.ToLower(n.Name)] = i+1, i+1
	}
	return errs
}

// commands are those that the project's scripts and clients need on a node.
var commands = [...]string{
	"eval", "evalsha", "info", "time",
	"get", "mget", "set", "mset", "del", "exists", "pttl", "pexpire",
	"hget", "hmget", "hgetall", "hscan", "hset", "hdel",
	"scan", "zadd", "zrem", "zrange", "zrangebyscore", "zremrangebyrank", "zscore",
}

// ACLRules returns the rules of the least privileged user for the namespace. A name and
// a password complete the command:
//
//	ACL SETUSER quorate on >password ~{quorate}:* ~quorate:node resetchannels -@all +eval …
//
// The key without braces belongs to format 1. It is looked up before a blank node is
// formatted.
func ACLRules(namespace string) string {
	return "~" + prefix(namespace) + "* ~" + untagged(namespace) + " resetchannels -@all +" + strings.Join(commands[:], " +")
}
