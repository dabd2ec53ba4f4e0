package redistest

import "strings"

// An Option changes how a server is started.
type Option func(*options)

type options struct {
	conf     []string
	username string
	password string
	ca       *CA
	sentinel bool
}

// Conf adds lines to the server's redis.conf, such as
// "maxmemory-policy allkeys-lru".
func Conf(lines ...string) Option {
	return func(o *options) { o.conf = append(o.conf, lines...) }
}

// Sentinel starts a Redis Sentinel in place of a server.
func Sentinel() Option {
	return func(o *options) { o.sentinel = true }
}

// ACL adds a user with the given rules, such as "~{quorate}:* +get", and makes
// URL name it. The default user stays, without a password.
func ACL(username, password, rules string) Option {
	return func(o *options) {
		o.username, o.password = username, password
		o.conf = append(o.conf, strings.Join([]string{"user", username, "on", ">" + password, rules}, " "))
	}
}

// TLS makes the server listen with a certificate for 127.0.0.1 that ca signed,
// and not in the clear.
func TLS(ca *CA) Option {
	return func(o *options) { o.ca = ca }
}
