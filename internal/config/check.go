package config

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/internal/console/webhook"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/schedule"
)

// Check returns every mistake of a configuration that was made, or changed, in code.
func (c *Config) Check(registry *jobs.Registry) error {
	ps := &problems{origin: c.origin}
	c.checkCluster(ps)
	c.check(ps, registry)
	return ps.err()
}

// check reports every mistake that decoding could not see, but for those of checkCluster. It opens
// no connection and resolves no late reference.
func (c *Config) check(ps *problems, registry *jobs.Registry) {
	if !printable.MatchString(c.Replica.ID) {
		ps.at(path{"replica", "id"}, "%q is not a name; use up to 200 printable characters without spaces", c.Replica.ID)
	}
	ps.labels(path{"replica", "labels"}, c.Replica.Labels)
	c.Lock.check(ps, c.store())
	c.HTTP.check(ps)
	if n := c.Metrics.MaxJobs; n < 0 && !ps.has(path{"metrics", "max_jobs"}) {
		ps.at(path{"metrics", "max_jobs"}, "%d is negative; write 0 to count all jobs together, or more", n)
	}
	c.Scheduler.check(ps)
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

// check makes sure that an extension can come in time.
func (l LockConfig) check(ps *problems, s waits) {
	margin := path{"lock", "safety_margin"}
	if l.SafetyMargin != 0 && !ps.positive(margin, l.SafetyMargin) {
		return
	}
	if l.safetyMargin() >= l.TTL {
		ps.at(margin, "%v is not below lock.ttl (%v), so no job could ever start; write about a tenth of it", l.safetyMargin(), l.TTL)
		return
	}
	every := path{"lock", "extend_every"}
	if l.ExtendEvery < 0 {
		ps.at(every, "%v is negative; remove it for the default, lock.ttl/3", l.ExtendEvery)
		return
	}
	if hold := l.MaxHold; hold < 0 || hold > 0 && hold < l.TTL {
		ps.at(path{"lock", "max_hold"}, "%v is below lock.ttl (%v); write more than your longest run takes, or 0s for no bound", hold, l.TTL)
	}
	l.checkExtensionFits(ps, s)
}

// checkExtensionFits makes sure that a lease outlives a slow store: its first extension
// may wait twice, since nodes that lack the claim are asked for it first.
func (l LockConfig) checkExtensionFits(ps *problems, s waits) {
	drift := time.Duration(float64(l.TTL)*redlock.DefaultDriftFactor) + 2*time.Millisecond
	ends, takes := l.TTL-drift-l.safetyMargin(), 2*s.timeout
	every, latest := l.extendEvery(), ends-takes
	if every < latest {
		return
	}
	remedy := "lower " + s.timeoutKey() + " or lock.safety_margin, or raise lock.ttl"
	if latest > 0 {
		remedy = fmt.Sprintf("write less than %v, or %s", latest, remedy)
	}
	ps.at(path{"lock", "extend_every"}, "extending every %v comes too late: an extension that waits twice for a slow answer takes %v (2 × %s), so it ends after %v; a job's context ends %v after the last extension (lock.ttl %v less drift %v and lock.safety_margin %v); %s",
		milliseconds(every), takes, s.timeoutKey(), milliseconds(every+takes), ends, l.TTL, drift, l.safetyMargin(), remedy)
}

func milliseconds(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

func (l LockConfig) extendEvery() time.Duration { return cmp.Or(l.ExtendEvery, l.TTL/3) }

func (l LockConfig) safetyMargin() time.Duration { return cmp.Or(l.SafetyMargin, l.TTL/10) }

// maxForgetAfter is below what the nodes keep of which jobs there were: a job
// that is not listed any more could not be found.
const maxForgetAfter = 365 * 24 * time.Hour

func (c SchedulerConfig) check(ps *problems) {
	p := path{"scheduler"}
	ps.positive(p.with("drain_timeout"), c.DrainTimeout)
	ps.notNegative(p.with("stagger"), c.Stagger)
	ps.positive(p.with("max_clock_offset"), c.MaxClockOffset)
	ps.notNegative(p.with("reload_every"), c.ReloadEvery)
	ps.positive(p.with("source_every"), c.SourceEvery)
	if d := c.ForgetAfter; d != 0 && (d < scheduler.MinForgetAfter || d > maxForgetAfter) {
		ps.at(p.with("forget_after"), "%v is not between %v and %v; write how long after it was last served a job is forgotten, or 0s for never",
			d, scheduler.MinForgetAfter, maxForgetAfter)
	}
	ps.zone(p.with("timezone"), c.Timezone)
	if n := c.MaxRunning; n < 0 {
		ps.at(p.with("max_running"), "%d is negative; write how many runs may go on at once, or 0 for no limit", n)
	}
}

func (ps *problems) zone(p path, name string) {
	if _, err := schedule.LoadZone(name); err != nil {
		ps.at(p, "%v", err)
	}
}

// check checks what is served over HTTP, and to whom.
func (h HTTPConfig) check(ps *problems) {
	p := path{"http"}
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
		h.checkUser(ps, p.with("users", name), name)
	}
	h.TrustedProxies.check(ps, p.with("trusted_proxies"))
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
func (h HTTPConfig) checkUser(ps *problems, p path, name string) {
	user := h.Users[name]
	if err := (identity.User{Name: name, Role: identity.Viewer}).Validate(); err != nil {
		ps.atKey(p, "%v", err)
	}
	if user.Password == "" && user.Token == "" && h.TrustedProxies.UserHeader == "" && !ps.has(p) {
		ps.at(p, "has neither password nor token; write what quorate users password or quorate users token prints")
	}
	if err := identity.ValidatePassword(user.Password); user.Password != "" && !hasReference(user.Password) && err != nil {
		ps.at(p.with("password"), "%v", err)
	}
	if err := identity.ValidateToken(user.Token); user.Token != "" && !hasReference(user.Token) && err != nil {
		ps.at(p.with("token"), "%v", err)
	}
}

func (x ProxyConfig) check(ps *problems, p path) {
	for i, text := range x.Addresses {
		if _, err := PrefixOf(text); err != nil {
			ps.at(p.with("addresses", strconv.Itoa(i)), "%q is no address; write one such as 10.0.0.7, or a network such as 10.0.0.0/8", text)
		}
	}
	switch {
	case x.UserHeader != "" && len(x.Addresses) == 0:
		ps.at(p, "names no addresses, so that nobody is believed; write those of the proxies")
	case x.Role != "none" && x.Role != "" && x.UserHeader == "":
		ps.at(p.with("role"), "has no effect without user_header; write the header in which the proxies name the user")
	}
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
func (h HTTPConfig) warn(ps *problems) {
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
				all = map[string]UserConfig{}
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
func userOf(name string, c UserConfig) (identity.User, error) {
	user := identity.User{Name: name, Role: c.Role}
	if user.Role == "" {
		user.Role = identity.Viewer
	}
	var err error
	if user.Password, err = expandSetting(c.Password); err != nil {
		return user, err
	}
	if user.Token, err = expandSetting(c.Token); err != nil {
		return user, err
	}
	return user, user.Validate()
}

// readUsers reads a file of users, strictly.
func readUsers(file string) (map[string]UserConfig, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var users map[string]UserConfig
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&users); err != nil && len(bytes.TrimSpace(text)) > 0 {
		return nil, fmt.Errorf("%w; write name: {role: viewer, token: …}", err)
	}
	return users, nil
}

// A WebhookConfig is an endpoint that is told what becomes of ticks and runs.
type WebhookConfig struct {
	URL     string            `json:"url" resolve:"late" jsonschema:"Address that gets the messages. Better a reference if it holds a secret: ${env:NAME} or ${file:/path}."`
	Events  []WebhookEvent    `json:"events" jsonschema:"Kinds of events to send."`
	Jobs    []string          `json:"jobs,omitempty" jsonschema:"Only events of these jobs, and of jobs with one of the tags; default: all jobs."`
	Tags    []string          `json:"tags,omitempty" jsonschema:"Only events of jobs with one of these tags, and of those under jobs; default: all jobs."`
	Headers map[string]string `json:"headers,omitempty" resolve:"late" jsonschema:"Headers to send. Better references if they hold secrets."`
	Secret  string            `json:"secret,omitempty" resolve:"late" jsonschema:"Key that signs each message, in the header Quorate-Signature. Better a reference."`
	Timeout time.Duration     `json:"timeout,omitempty" jsonschema:"Limit of one try; default: 5s."`
}

// A WebhookEvent is a kind of thing that a webhook tells.
type WebhookEvent string

// Values implements choice.
func (WebhookEvent) Values() []string {
	var all []string
	for _, e := range webhook.Events() {
		all = append(all, string(e))
	}
	return all
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
			b.at(p, "has no events; write some of %s", oneOf(WebhookEvent("").Values()))
		}
		b.checkNames(p.with("jobs"), hook.Jobs)
		if hook.Timeout != 0 {
			b.positive(p.with("timeout"), hook.Timeout)
		}
	}
}

// checkExpanded checks a text with its references resolved, if they can be: Unresolved names
// the others.
func (b *builder) checkExpanded(p path, text string, check func(string) error) {
	value, err := Expand(text)
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
