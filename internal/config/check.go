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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/internal/console/webhook"
	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/internal/refs"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/schedule"
)

// Check returns every mistake of a configuration that was made, or changed, in code.
func (c *Config) Check(registry *jobs.Registry) error {
	ps := &problems{origin: c.origin}
	ps.checkValues(nil, reflect.ValueOf(c), "")
	c.checkCluster(ps)
	c.check(ps, registry)
	return ps.err()
}

// check reports every mistake that decoding could not see, but for those of checkValues and
// checkCluster. It opens
// no connection and resolves no late reference.
func (c *Config) check(ps *problems, registry *jobs.Registry) {
	if !printable.MatchString(c.Replica.ID) {
		ps.at(path{"replica", "id"}, "%q is not a name; use up to 200 printable characters without spaces", c.Replica.ID)
	}
	ps.labels(path{"replica", "labels"}, c.Replica.Labels)
	c.checkLock(ps)
	c.checkHTTP(ps)
	ps.zone(path{"scheduler", "timezone"}, c.Scheduler.Timezone)
	c.Defaults.check(ps, path{"defaults"}, DefaultPolicy())
	b := c.builder(ps, registry)
	b.checkGroup(path{"defaults", "group"}, c.Defaults.Group)
	b.checkGroups()
	b.check()
	checkHistory(c, ps)
	b.checkWebhooks()
}

// Names that end up in keys, logs and lists.
var (
	jobName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	// serviceName is that of a service.
	serviceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	printable   = regexp.MustCompile(`^[[:graph:]]{0,200}$`)
)

// CheckService checks the name of a service.
func CheckService(name string) error {
	if !serviceName.MatchString(name) {
		return fmt.Errorf("%q is not a name: write up to 63 letters, digits, dots, underscores and dashes", name)
	}
	return nil
}

// checkCluster checks what decides which cluster this is.
func (c *Config) checkCluster(ps *problems) {
	if err := membership.CheckNamespace(c.Namespace); err != nil {
		ps.at(path{"namespace"}, "%v", err)
	}
	if err := CheckService(c.Service); c.Service != "" && err != nil {
		ps.at(path{"service"}, "%v", err)
	}
	checkStore(c, ps)
	c.store().check(ps, c.Lock.TTL)
}

// positive reports d unless it is a positive number of milliseconds.
func (ps *problems) positive(p path, d time.Duration) bool {
	if d <= 0 || d%time.Millisecond != 0 {
		ps.at(p, "%v is not a positive whole number of milliseconds; write one, such as %s", d, "1500ms")
		return false
	}
	return true
}

// notNegative reports d if it is negative.
func (ps *problems) notNegative(p path, d time.Duration) {
	if d < 0 {
		ps.at(p, "%v is negative; write 0s or more", d)
	}
}

// checkLock makes sure that an extension can come in time.
func (c *Config) checkLock(ps *problems) {
	l, every := c.Lock, path{"lock", "extend_every"}
	if l.TTL <= 0 || l.SafetyMargin < 0 || l.ExtendEvery < 0 {
		return // reported
	}
	if c.safetyMargin() >= l.TTL {
		ps.at(path{"lock", "safety_margin"}, "%v is not below lock.ttl (%v), so no job could ever start; write about a tenth of it", c.safetyMargin(), l.TTL)
		return
	}
	if hold := of(l.MaxHold); hold < 0 || hold > 0 && hold < l.TTL {
		ps.at(path{"lock", "max_hold"}, "%v is below lock.ttl (%v); write more than your longest run takes, or 0s for no bound", hold, l.TTL)
	}
	// A lease must outlive a slow store: its first extension may wait twice, since nodes that lack
	// the claim are asked for it first.
	s := c.store()
	drift := time.Duration(float64(l.TTL)*redlock.DefaultDriftFactor) + 2*time.Millisecond
	ends, takes := l.TTL-drift-c.safetyMargin(), 2*s.timeout
	pause, latest := c.extendEvery(), ends-takes
	if pause < latest {
		return
	}
	remedy := "lower " + s.timeoutKey() + " or lock.safety_margin, or raise lock.ttl"
	if latest > 0 {
		remedy = fmt.Sprintf("write less than %v, or %s", latest, remedy)
	}
	ps.at(every, "extending every %v comes too late: an extension that waits twice for a slow answer takes %v (2 × %s), so it ends after %v; a job's context ends %v after the last extension (lock.ttl %v less drift %v and lock.safety_margin %v); %s",
		milliseconds(pause), takes, s.timeoutKey(), milliseconds(pause+takes), ends, l.TTL, drift, c.safetyMargin(), remedy)
}

func milliseconds(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

func (c *Config) extendEvery() time.Duration { return cmp.Or(c.Lock.ExtendEvery, c.Lock.TTL/3) }

func (c *Config) safetyMargin() time.Duration { return cmp.Or(c.Lock.SafetyMargin, c.Lock.TTL/10) }

// of returns the value of a setting whose zero is one of its own; zero if it is unset.
func of[T any](setting *T) (value T) {
	if setting != nil {
		value = *setting
	}
	return value
}

// checkValues reports what v, at p, may not be by the tags of its field or by its type, and the same
// of all values in it. The tag range lists numbers, such as 0|1h..8760h or 1ms.. for any positive
// whole number of milliseconds; the tag wrong is what the message says behind the value.
func (ps *problems) checkValues(p path, v reflect.Value, tag reflect.StructTag) {
	switch v = reflect.Indirect(v); v.Kind() {
	case reflect.String:
		choices := choicesOf(v.Type(), tag)
		if choices != nil && v.String() != "" && !slices.Contains(choices, v.String()) && !ps.has(p) {
			ps.at(p, "%q is not a choice; write %s", v.String(), oneOf(choices))
		}
	case reflect.Int, reflect.Int64:
		allowed, bounded := tag.Lookup("range")
		if !bounded || inRange(v, allowed) || ps.has(p) {
			return
		}
		usual := "is not a positive whole number of milliseconds; write one, such as 1500ms"
		if strings.HasPrefix(allowed, "0..") {
			usual = "is negative; write 0s or more"
		}
		ps.at(p, "%v %s", v.Interface(), cmp.Or(tag.Get("wrong"), usual))
	case reflect.Struct:
		for _, f := range decode.Fields(v.Type()) {
			ps.checkValues(p.with(f.Name), v.FieldByIndex(f.Index), f.Tag)
		}
	case reflect.Slice:
		for i := range v.Len() {
			ps.checkValues(p.with(strconv.Itoa(i)), v.Index(i), tag)
		}
	case reflect.Map:
		for entry := v.MapRange(); entry.Next(); {
			ps.checkValues(p.with(entry.Key().String()), entry.Value(), tag)
		}
	}
}

// inRange reports whether a number or duration is one of those that a tag range allows.
func inRange(v reflect.Value, allowed string) bool {
	bound := func(text string) int64 {
		if v.Type() != reflect.TypeFor[time.Duration]() {
			n, _ := strconv.ParseInt(text, 10, 64) // a test reads all tags
			return n
		}
		d, _ := time.ParseDuration(text)
		return int64(d)
	}
	for part := range strings.SplitSeq(allowed, "|") {
		least, most, open := strings.Cut(part, "..")
		if !open {
			most = least
		}
		whole := least != "1ms" || v.Int()%int64(time.Millisecond) == 0
		if v.Int() >= bound(least) && (most == "" || v.Int() <= bound(most)) && whole {
			return true
		}
	}
	return false
}

func (ps *problems) zone(p path, name string) {
	if _, err := schedule.LoadZone(name); err != nil {
		ps.at(p, "%v", err)
	}
}

// CheckHTTP returns every mistake of the http section alone, which a program has made.
func (c *Config) CheckHTTP() error {
	ps := &problems{origin: c.origin}
	ps.checkValues(path{"http"}, reflect.ValueOf(c.HTTP), "")
	c.checkHTTP(ps)
	return ps.err()
}

// checkHTTP checks what is served over HTTP, and to whom.
func (c *Config) checkHTTP(ps *problems) {
	p, h := path{"http"}, c.HTTP
	ps.address(p.with("listen"), h.Listen)
	ps.address(p.with("probes_listen"), h.ProbesListen)
	if _, port, _ := net.SplitHostPort(h.Listen); h.Listen == h.ProbesListen && h.Listen != "" && port != "0" {
		ps.at(p.with("probes_listen"), "%s is http.listen; choose another port", h.ProbesListen)
	}
	if err := gate.ValidBasePath(h.BasePath); err != nil {
		ps.at(p.with("base_path"), "%v", err)
	}
	if (h.TLS.CertFile == "") != (h.TLS.KeyFile == "") {
		ps.at(p.with("tls"), "cert_file and key_file go together; set both or neither")
	}
	for _, name := range slices.Sorted(maps.Keys(h.Users)) {
		c.checkUser(ps, p.with("users", name), name)
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

// address reports what is no address to listen on.
func (ps *problems) address(p path, text string) {
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
	if err := (identity.User{Name: name, Role: identity.Viewer}).Validate(); err != nil {
		ps.atKey(p, "%v", err)
	}
	if user.Password == "" && user.Token == "" && c.HTTP.TrustedProxies.UserHeader == "" && !ps.has(p) {
		ps.at(p, "has neither password nor token; write what quorate users password or quorate users token prints")
	}
	if err := identity.ValidatePassword(string(user.Password)); user.Password != "" && !hasReference(user.Password) && err != nil {
		ps.at(p.with("password"), "%v", err)
	}
	if err := identity.ValidateToken(string(user.Token)); user.Token != "" && !hasReference(user.Token) && err != nil {
		ps.at(p.with("token"), "%v", err)
	}
}

// Proxy returns who may name the user, of a section that was checked.
func (c *Config) Proxy() identity.Proxy {
	trusted := c.HTTP.TrustedProxies
	proxy := identity.Proxy{UserHeader: trusted.UserHeader}
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

// warn reports secrets that go over the network for everybody to read.
func (c *Config) warnHTTP(ps *problems) {
	h := c.HTTP
	host, _, err := net.SplitHostPort(h.Listen)
	at, _ := netip.ParseAddr(host)
	if err != nil || at.IsLoopback() || host == "localhost" || h.TLS.CertFile != "" || len(h.TrustedProxies.Addresses) > 0 {
		return
	}
	ps.at(path{"http", "listen"}, "warning: passwords and tokens of users go over the network for everybody to read; set http.tls, or put a proxy that speaks TLS before it and name it in http.trusted_proxies")
}

// Users returns who may log in, references resolved, those of http.users_file
// included.
func (c *Config) Users() ([]identity.User, error) {
	all := maps.Clone(c.HTTP.Users)
	if c.HTTP.UsersFile != "" {
		more, err := readUsers(c.HTTP.UsersFile)
		if err != nil {
			return nil, fmt.Errorf("http.users_file: %s: %w", c.HTTP.UsersFile, err)
		}
		for name, user := range more {
			if _, twice := all[name]; twice {
				return nil, fmt.Errorf("http.users_file: %s: user %s is under http.users, too; remove one", c.HTTP.UsersFile, name)
			}
			if all == nil {
				all = map[string]settings.User{}
			}
			all[name] = user
		}
	}
	var list []identity.User
	for _, name := range slices.Sorted(maps.Keys(all)) {
		user, err := userOf(name, all[name])
		if err != nil {
			return nil, fmt.Errorf("http: user %s: %w", name, err)
		}
		list = append(list, user)
	}
	return list, nil
}

// userOf resolves the references of a user.
func userOf(name string, c settings.User) (identity.User, error) {
	user := identity.User{Name: name, Role: c.Role}
	if user.Role == "" {
		user.Role = identity.Viewer
	}
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

// checkWebhooks reports mistakes in what is told to whom.
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

// What etcd and ZooKeeper bear. Both keep all in memory, etcd by default at most 2 GiB of it and
// of what it was before it last compacted. The pages docs/etcd.md and docs/zookeeper.md have the measurements.
const (
	// SmallKeep is the default of history.keep there.
	SmallKeep = 100
	// entryBytes is what an entry takes there, with its key.
	entryBytes = 1400
)

// bears returns how much all jobs together may keep in a store; 0: as much as they like.
func bears(section string) (store string, most int) {
	switch section {
	case SectionEtcd:
		return "etcd", 1 << 30
	case SectionZooKeeper:
		return "ZooKeeper", 256 << 20
	}
	return "", 0
}

// checkHistory makes sure that the store bears the history of all jobs.
func checkHistory(c *Config, ps *problems) {
	store, most := bears(c.Section())
	if most == 0 {
		return
	}
	total := 0
	for _, job := range c.Jobs {
		runs, others := job.History.Keep, job.History.Keep
		total += (runs+others)*entryBytes + job.History.MaxBytes
	}
	if total > most {
		ps.at(path{"defaults", "history"}, "the history of all %d jobs may reach %d MiB, and %s bears %d MiB; lower history.keep or history.max_bytes of the jobs that run often",
			len(c.Jobs), total>>20, store, most>>20)
	}
}
