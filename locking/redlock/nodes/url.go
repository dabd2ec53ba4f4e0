package nodes

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
)

// A nodeURL is a parsed URL of a node.
type nodeURL struct {
	addr     string // host:port in lower case
	host     string
	tls      bool
	username string
	password string
	redacted string
}

var errNotShown = errors.New("its URL cannot be parsed (not shown, since it may hold a password): write redis://user:password@host:port with special characters percent-encoded")

// schemes of the URLs of nodes, and whether they mean TLS.
var schemes = map[string]bool{"redis": false, "rediss": true, "valkey": false, "valkeys": true}

// errScheme does not show the URL, which may hold a password.
var errScheme = errors.New("its URL must start with redis:// or rediss://, or with valkey:// or valkeys://")

// hostPort is what people write who forget the scheme; it holds no password.
var hostPort = regexp.MustCompile(`^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+:)(:?[0-9]+)?$`)

// parseURL reads the URL of a node. Its errors never show what stands before
// the host, nor anything of a URL that cannot be taken apart.
func parseURL(s string) (nodeURL, error) {
	if hostPort.MatchString(s) {
		return nodeURL{}, fmt.Errorf("its URL is without a scheme: write redis://%s", s)
	}
	if !strings.Contains(s, "://") {
		return nodeURL{}, errScheme
	}
	u, err := url.Parse(s)
	if err != nil {
		// The cause is dropped: net/url quotes the text, password and all.
		return nodeURL{}, errNotShown
	}
	tls, known := schemes[u.Scheme]
	if !known {
		return nodeURL{}, errScheme
	}
	if u.Hostname() == "" {
		return nodeURL{}, errors.New("its URL names no host: write redis://host:port")
	}
	if strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") {
		return nodeURL{}, errNotShown // a password with / ? or # in it: its start is the host now
	}
	n := nodeURL{host: u.Hostname(), tls: tls}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	n.addr = strings.ToLower(net.JoinHostPort(n.host, port))
	if u.Path != "" && u.Path != "/" && u.Path != "/0" {
		return nodeURL{}, fmt.Errorf("the URL of %s names a database: only database 0 is used, remove the path", n.addr)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nodeURL{}, fmt.Errorf("the URL of %s has parameters: remove what follows the port", n.addr)
	}
	n.username = u.User.Username()
	n.password, _ = u.User.Password()
	n.redacted = redact(u.Scheme, n)
	return n, nil
}

// redact shows that there is a password, not which. A user without a password
// is hidden too: people write redis://secret@host.
func redact(scheme string, n nodeURL) string {
	switch {
	case n.password != "":
		return scheme + "://" + n.username + ":***@" + n.addr
	case n.username != "":
		return scheme + "://***@" + n.addr
	}
	return scheme + "://" + n.addr
}
