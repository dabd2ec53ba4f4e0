package client

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A URL says where a node's server is: its parsed URL, or where to ask for it.
type URL struct {
	Addr     string // host:port in lower case; the name of a master, or of a cluster's servers
	tls      bool
	username string
	password string
	Redacted string         // without secrets
	base     *redis.Options // of a client that the program already has, else nil

	// Where to ask for the server: the addresses of Sentinels that watch the master, or of
	// servers of a Redis Cluster if master is empty.
	seeds                  []string
	master                 string
	seedUser, seedPassword string // of Sentinels
}

// URLOf returns the address of a client's node, and how the client reaches it.
func URLOf(c redis.UniversalClient) (URL, error) {
	var base *redis.Options
	switch c := c.(type) {
	case *redis.Client:
		base = c.Options()
	case *redis.ClusterClient:
		o := c.Options()
		return URL{Addr: clusterName, Redacted: clusterName, seeds: o.Addrs, base: &redis.Options{
			Dialer: o.Dialer, Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig,
			CredentialsProvider: o.CredentialsProvider, CredentialsProviderContext: o.CredentialsProviderContext,
			StreamingCredentialsProvider: o.StreamingCredentialsProvider, DialTimeout: o.DialTimeout,
		}}, nil
	default:
		return URL{}, fmt.Errorf("a %T is no node: pass a *redis.Client or a *redis.ClusterClient", c)
	}
	addr := strings.ToLower(base.Addr)
	if base.DB != 0 {
		return URL{}, fmt.Errorf("the client of %s uses database %d: only database 0 is used", addr, base.DB)
	}
	return URL{Addr: addr, Redacted: "redis://" + addr, base: base}, nil
}

var errNotShown = errors.New("its URL cannot be parsed (not shown, since it may hold a password): write redis://user:password@host:port with special characters percent-encoded")

// schemes tells for each valid scheme whether it means TLS.
var schemes = map[string]bool{"redis": false, "rediss": true, "valkey": false, "valkeys": true}

// errScheme does not show the URL, which may hold a password.
var errScheme = errors.New("its URL must start with redis:// or rediss://, or with valkey:// or valkeys://")

// hostPort matches addresses without a scheme, which hold no password.
var hostPort = regexp.MustCompile(`^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+:)(:?[0-9]+)?$`)

// ParseURL parses the URL of a node. Its errors never quote what precedes the host, nor
// any part of an invalid URL.
func ParseURL(s string) (URL, error) { return parseURL(s, "6379") }

func parseURL(s, port string) (URL, error) {
	if hostPort.MatchString(s) {
		return URL{}, fmt.Errorf("its URL is without a scheme: write redis://%s", s)
	}
	if !strings.Contains(s, "://") {
		return URL{}, errScheme
	}
	u, err := url.Parse(s)
	if err != nil {
		// The cause is dropped: net/url quotes the text with the password.
		return URL{}, errNotShown
	}
	tls, known := schemes[u.Scheme]
	if !known {
		return URL{}, errScheme
	}
	if u.Hostname() == "" {
		return URL{}, errors.New("its URL names no host: write redis://host:port")
	}
	if strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") {
		return URL{}, errNotShown // a password with / ? or # in it: its start was parsed as the host
	}
	n := URL{tls: tls}
	n.Addr = strings.ToLower(net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port)))
	if u.Path != "" && u.Path != "/" && u.Path != "/0" {
		return URL{}, fmt.Errorf("the URL of %s names a database: only database 0 is used, remove the path", n.Addr)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return URL{}, fmt.Errorf("the URL of %s has parameters: remove what follows the port", n.Addr)
	}
	n.username = u.User.Username()
	n.password, _ = u.User.Password()
	n.Redacted = redact(u.Scheme, n)
	return n, nil
}

// clusterName stands for the address of a Redis Cluster.
const clusterName = "cluster"

// Cluster reports whether servers of a Redis Cluster are asked for the node's server.
func (u URL) Cluster() bool { return len(u.seeds) > 0 && u.master == "" }

// SentinelURL is that of the master that the Sentinels at the URLs watch under the name.
// Their user and password are in the URLs. With rediss:// the master, too, speaks TLS.
func SentinelURL(master string, urls []string) (URL, error) {
	if master == "" || strings.ContainsAny(master, " \t\r\n") {
		return URL{}, fmt.Errorf("%q is not the name of a master that Sentinels watch, such as mymaster", master)
	}
	u, err := seedURL(urls, "26379")
	u.Addr, u.master, u.Redacted = master, master, "master "+master+" of "+u.Redacted
	u.seedUser, u.seedPassword, u.username, u.password = u.username, u.password, "", ""
	return u, err
}

// ClusterURL is that of a Redis Cluster with servers at the URLs.
func ClusterURL(urls []string) (URL, error) {
	u, err := seedURL(urls, "6379")
	u.Addr, u.Redacted = clusterName, clusterName+" of "+u.Redacted
	return u, err
}

// seedURL reads the URLs of servers that know where others are.
func seedURL(urls []string, port string) (URL, error) {
	var all URL
	var shown []string
	if len(urls) == 0 {
		return all, errors.New("no address is listed: write some, such as redis://10.0.0.1:" + port)
	}
	for i, text := range urls {
		u, err := parseURL(text, port)
		if err != nil {
			return all, fmt.Errorf("address %d: %w", i+1, err)
		}
		if i == 0 {
			all = u
		}
		if u.tls != all.tls || u.username != all.username || u.password != all.password {
			return all, fmt.Errorf("address %d: its scheme, user or password differ from those of the first: use one for all", i+1)
		}
		all.seeds, shown = append(all.seeds, u.Addr), append(shown, u.Addr)
	}
	all.Redacted = strings.Join(shown, ", ")
	return all, nil
}

// redact hides the password. It also hides a user without a password, since people
// write redis://secret@host.
func redact(scheme string, n URL) string {
	switch {
	case n.password != "":
		return scheme + "://" + n.username + ":***@" + n.Addr
	case n.username != "":
		return scheme + "://***@" + n.Addr
	}
	return scheme + "://" + n.Addr
}
