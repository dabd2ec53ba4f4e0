package wire

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A URL is the parsed URL of a node.
type URL struct {
	Addr     string // host:port in lower case
	host     string
	tls      bool
	username string
	password string
	Redacted string         // without secrets
	base     *redis.Options // of a client that the program already has, else nil
}

// ClientURL returns the address of a client's node, and how the client reaches it.
func ClientURL(c redis.UniversalClient) (URL, error) {
	single, ok := c.(*redis.Client)
	if !ok {
		return URL{}, fmt.Errorf("a %T is not a single node: list independent masters, each by a client of its own", c)
	}
	base := single.Options()
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
func ParseURL(s string) (URL, error) {
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
	n := URL{host: u.Hostname(), tls: tls}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	n.Addr = strings.ToLower(net.JoinHostPort(n.host, port))
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
