package config

import (
	"cmp"
	"fmt"
	"regexp"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/scheduler"
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
