package config

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/internal/console/webhook"
	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/identity"
)

// CheckHTTP returns every mistake of the http section alone, which a program has made.
func (c *Config) CheckHTTP() error {
	ps := &problems{origin: c.origin}
	c.checkValues(ps, path{"http"}, reflect.ValueOf(c.HTTP))
	c.checkHTTP(ps)
	return ps.err()
}

// checkHTTP checks the http section.
func (c *Config) checkHTTP(ps *problems) {
	p, h := path{"http"}, c.HTTP
	ps.checkAddress(p.with("listen"), h.Listen)
	ps.checkAddress(p.with("probes_listen"), h.ProbesListen)
	if _, port, _ := net.SplitHostPort(h.Listen); h.Listen == h.ProbesListen && h.Listen != "" && port != "0" {
		ps.at(p.with("probes_listen"), "%s is http.listen; choose another port", h.ProbesListen)
	}
	if err := gate.ValidBasePath(h.BasePath); err != nil {
		ps.at(p.with("base_path"), "%v", err)
	}
	ps.checkTogether(p.with("tls"), "cert_file and key_file", h.TLS.CertFile, h.TLS.KeyFile)
	for _, name := range slices.Sorted(maps.Keys(h.Users)) {
		c.checkUser(ps, p.with("users", name), name)
	}
	if n := len(h.SessionKey); n > 0 && n < gate.MinSessionKey && !hasReference(h.SessionKey) {
		ps.at(p.with("session_key"), "has %d characters; write at least %d random ones, such as openssl rand -base64 32 prints", n, gate.MinSessionKey)
	}
	proxies, p := h.TrustedProxies, p.with("trusted_proxies")
	for i, text := range proxies.Addresses {
		if _, err := PrefixOf(text); err != nil {
			ps.at(p.with("addresses", strconv.Itoa(i)), "%q is no address; write one such as 10.0.0.7, or a network such as 10.0.0.0/8", text)
		}
	}
	switch {
	case proxies.UserHeader != "" && len(proxies.Addresses) == 0:
		ps.at(p, "names no addresses, so that nobody is believed; write those of the proxies")
	case proxies.Role != "none" && proxies.Role != "" && proxies.UserHeader == "":
		ps.at(p.with("role"), "has no effect without user_header; write the header in which the proxies name the user")
	}
}

// checkAddress reports a text that is no address to listen on.
func (ps *problems) checkAddress(p path, text string) {
	if text == "" {
		return
	}
	_, port, err := net.SplitHostPort(text)
	n, numErr := strconv.Atoi(port)
	if err != nil || numErr != nil || n < 0 || n > 65535 {
		ps.at(p, "%q is not an address; write host:port such as 127.0.0.1:8081, or :8081 for all interfaces", text)
	}
}

// checkUser checks a user, but for secrets that are references.
func (c *Config) checkUser(ps *problems, p path, name string) {
	user := c.HTTP.Users[name]
	if err := (gate.User{Name: name, Role: identity.Viewer}).Validate(); err != nil {
		ps.atKey(p, "%v", err)
	}
	if user.Password == "" && user.Token == "" && c.HTTP.TrustedProxies.UserHeader == "" && !ps.has(p) {
		ps.at(p, "has neither password nor token; write what quorate users password or quorate users token prints")
	}
	if err := gate.ValidatePassword(string(user.Password)); user.Password != "" && !hasReference(user.Password) && err != nil {
		ps.at(p.with("password"), "%v", err)
	}
	if err := gate.ValidateToken(string(user.Token)); user.Token != "" && !hasReference(user.Token) && err != nil {
		ps.at(p.with("token"), "%v", err)
	}
}

// Proxy returns the proxies that may name the user. It expects a section that was checked.
func (c *Config) Proxy() gate.Proxy {
	trusted := c.HTTP.TrustedProxies
	proxy := gate.Proxy{UserHeader: trusted.UserHeader}
	if trusted.Role != "none" && proxy.UserHeader != "" {
		proxy.Role = identity.Role(trusted.Role)
	}
	for _, text := range trusted.Addresses {
		if prefix, err := PrefixOf(text); err == nil {
			proxy.Addresses = append(proxy.Addresses, prefix)
		}
	}
	return proxy
}

// PrefixOf reads an address, or a network.
func PrefixOf(text string) (netip.Prefix, error) {
	if at, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(at.Unmap(), at.Unmap().BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if prefix.Addr().Is4In6() && prefix.Bits() >= 96 {
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
	}
	return prefix, err
}

// warnHTTP reports secrets that go over the network for everybody to read.
func (c *Config) warnHTTP(ps *problems) {
	h := c.HTTP
	host, _, err := net.SplitHostPort(h.Listen)
	at, _ := netip.ParseAddr(host)
	if err != nil || at.IsLoopback() || host == "localhost" || h.TLS.CertFile != "" || len(h.TrustedProxies.Addresses) > 0 {
		return
	}
	ps.at(path{"http", "listen"}, "warning: passwords and tokens of users go over the network for everybody to read; set http.tls, or put a proxy that speaks TLS before it and name it in http.trusted_proxies")
}

// Users returns the users of http.users and http.users_file, with their references resolved.
func (c *Config) Users() ([]gate.User, error) {
	all := map[string]settings.User{}
	maps.Copy(all, c.HTTP.Users)
	if c.HTTP.UsersFile != "" {
		more, err := readUsers(c.HTTP.UsersFile)
		if err != nil {
			return nil, fmt.Errorf("http.users_file: %s: %w", c.HTTP.UsersFile, err)
		}
		for name, user := range more {
			if _, twice := all[name]; twice {
				return nil, fmt.Errorf("http.users_file: %s: user %s is under http.users, too; remove one", c.HTTP.UsersFile, name)
			}
			all[name] = user
		}
	}
	var list []gate.User
	for _, name := range slices.Sorted(maps.Keys(all)) {
		user, err := userOf(name, all[name])
		if err != nil {
			return nil, fmt.Errorf("http: user %s: %w", name, err)
		}
		list = append(list, user)
	}
	return list, nil
}

// SessionKey returns http.session_key with its references resolved; nil for none.
func (c *Config) SessionKey() ([]byte, error) {
	key, err := c.HTTP.SessionKey.Resolve()
	if err != nil {
		return nil, fmt.Errorf("http.session_key: %w", err)
	}
	if key != "" && len(key) < gate.MinSessionKey {
		return nil, fmt.Errorf("http.session_key has %d characters; write at least %d random ones, such as openssl rand -base64 32 prints", len(key), gate.MinSessionKey)
	}
	return []byte(key), nil
}

// userOf resolves the references of a user.
func userOf(name string, c settings.User) (gate.User, error) {
	user := gate.User{Name: name, Role: cmp.Or(c.Role, identity.Viewer)}
	var err error
	if user.Password, err = c.Password.Resolve(); err != nil {
		return user, err
	}
	if user.Token, err = c.Token.Resolve(); err != nil {
		return user, err
	}
	return user, user.Validate()
}

// readUsers reads a file of users, strictly.
func readUsers(file string) (map[string]settings.User, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var users map[string]settings.User
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&users); err != nil && len(bytes.TrimSpace(text)) > 0 {
		return nil, fmt.Errorf("%w; write name: {role: viewer, token: …}", err)
	}
	return users, nil
}

// checkWebhooks checks the endpoints that get events.
func (b *builder) checkWebhooks() {
	for i, hook := range b.cfg.Webhooks {
		p := path{"webhooks", strconv.Itoa(i)}
		badEvents := b.has(p.with("events"))
		if hook.URL == "" && !b.has(p.with("url")) {
			b.at(p, "has no url; write one such as https://hooks.example.com/quorate")
		}
		b.checkExpanded(p.with("url"), hook.URL, webhook.CheckURL)
		b.checkExpanded(p.with("secret"), hook.Secret, webhook.CheckSecret)
		for _, name := range slices.Sorted(maps.Keys(hook.Headers)) {
			b.checkExpanded(p.with("headers", name), hook.Headers[name], func(value string) error { return webhook.CheckHeader(name, value) })
		}
		if len(hook.Events) == 0 && !badEvents {
			field, _ := reflect.TypeFor[settings.Webhook]().FieldByName("Events")
			b.at(p, "has no events; write some of %s", oneOf(choicesOf(field.Type.Elem(), field.Tag)))
		}
		b.checkNames(p.with("jobs"), hook.Jobs)
	}
}

// checkExpanded checks a text with its references resolved, if they can be: Unresolved names
// the others.
func (b *builder) checkExpanded(p path, text settings.Secret, check func(string) error) {
	value, err := refs.Resolve(string(text))
	if err != nil || text == "" || b.has(p) {
		return
	}
	if err := check(value); err != nil {
		b.at(p, "%v", err)
	}
}
