package config

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/scheduler/schedule"
)

// Check returns every mistake of a configuration that was made, or changed, in code.
func (c *Config) Check(registry *jobs.Registry) error {
	ps := &problems{origin: c.origin}
	c.checkValues(ps, nil, reflect.ValueOf(c))
	c.checkCluster(ps)
	c.check(ps, registry)
	return ps.err()
}

// check reports the mistakes that decoding, checkValues and checkCluster leave. It opens no
// connection and resolves no late reference.
func (c *Config) check(ps *problems, registry *jobs.Registry) {
	if !printable.MatchString(c.Replica.ID) {
		ps.at(path{"replica", "id"}, "%q is not a name; use up to 200 printable characters without spaces", c.Replica.ID)
	}
	ps.checkLabels(path{"replica", "labels"}, c.Replica.Labels)
	c.checkLock(ps)
	c.checkHTTP(ps)
	ps.checkZone(path{"scheduler", "timezone"}, c.Scheduler.Timezone)
	c.Defaults.check(ps, path{"defaults"}, DefaultPolicy())
	b := c.builder(ps, registry)
	b.checkGroup(path{"defaults", "group"}, c.Defaults.Group)
	for name, group := range c.Groups {
		p := path{"groups", name}
		if group.MaxRunning < 1 && !ps.has(p) { // a misspelt key is one mistake, not two
			ps.at(p.with("max_running"), "%d runs at once are none; write 1 or more", group.MaxRunning)
		}
		ps.checkName(p, "the name of a group")
	}
	b.check()
	c.checkHistory(ps)
	b.checkWebhooks()
}

// Names that end up in keys, logs and lists.
var (
	jobName     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	serviceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	printable   = regexp.MustCompile(`^[[:graph:]]{0,200}$`)
)

// checkName reports the key that p ends in, unless it may be the name of a job, calendar or group.
func (ps *problems) checkName(p path, what string) {
	if name := p[len(p)-1]; !jobName.MatchString(name) {
		ps.atKey(p, "%q is not %s; use up to 100 letters, digits and . _ -, starting with a letter or digit", name, what)
	}
}

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
	c.checkStore(ps)
}

// checkPositive reports d unless it is a positive number of milliseconds.
func (ps *problems) checkPositive(p path, d time.Duration) bool {
	return ps.checkRange(p, reflect.ValueOf(d), "1ms..", "")
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
	if hold := deref(l.MaxHold); hold < 0 || hold > 0 && hold < l.TTL {
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
	timeout := s.key(s.timeoutKey)
	remedy := "lower " + timeout + " or lock.safety_margin, or raise lock.ttl"
	if latest > 0 {
		remedy = fmt.Sprintf("write less than %v, or %s", latest, remedy)
	}
	ps.at(every, "extending every %v comes too late: an extension that waits twice for a slow answer takes %v (2 × %s), so it ends after %v; a job's context ends %v after the last extension (lock.ttl %v less drift %v and lock.safety_margin %v); %s",
		milliseconds(pause), takes, timeout, milliseconds(pause+takes), ends, l.TTL, drift, c.safetyMargin(), remedy)
}

func milliseconds(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

func (c *Config) extendEvery() time.Duration { return cmp.Or(c.Lock.ExtendEvery, c.Lock.TTL/3) }

func (c *Config) safetyMargin() time.Duration { return cmp.Or(c.Lock.SafetyMargin, c.Lock.TTL/10) }

// deref returns the value of a setting whose zero is one of its own; zero if it is unset.
func deref[T any](setting *T) (value T) {
	if setting != nil {
		value = *setting
	}
	return value
}

// checkValues reports what v, at p, and the values in it may not be by the tags of their fields or by
// their types.
func (c *Config) checkValues(ps *problems, p path, v reflect.Value) {
	c.visit(p, v, "", func(p path, v reflect.Value, tag reflect.StructTag) {
		switch v.Kind() {
		case reflect.String:
			choices := choicesOf(v.Type(), tag)
			if choices != nil && v.String() != "" && !slices.Contains(choices, v.String()) && !ps.has(p) {
				ps.at(p, "%q is not a choice; write %s", v.String(), oneOf(choices))
			}
		case reflect.Int, reflect.Int64:
			if allowed, bounded := tag.Lookup("range"); bounded && !ps.has(p) {
				ps.checkRange(p, v, allowed, tag.Get("wrong"))
			}
		}
	})
}

// visit calls each for all values without parts that are in v, or v itself, with the tags of their
// fields. It leaves out what a job has from the defaults, which are visited themselves.
func (c *Config) visit(p path, v reflect.Value, tag reflect.StructTag, each func(path, reflect.Value, reflect.StructTag)) {
	switch v = reflect.Indirect(v); v.Kind() {
	case reflect.Struct:
		for _, f := range decode.Fields(v.Type()) {
			if field := v.FieldByIndex(f.Index); v.Type() != reflect.TypeFor[JobConfig]() || !c.isDefault(f, field) {
				c.visit(p.with(f.Name), field, f.Tag, each)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			c.visit(p.with(strconv.Itoa(i)), v.Index(i), tag, each)
		}
	case reflect.Map:
		for entry := v.MapRange(); entry.Next(); {
			c.visit(p.with(entry.Key().String()), entry.Value(), tag, each)
		}
	case reflect.Invalid: // a pointer that is nil
	default:
		each(p, v, tag)
	}
}

// isDefault reports whether a field of a job is one of its policy, and as in the defaults.
func (c *Config) isDefault(f decode.Field, v reflect.Value) bool {
	return len(f.Index) > 1 && reflect.DeepEqual(v.Interface(), reflect.ValueOf(c.Defaults).FieldByIndex(f.Index[1:]).Interface())
}

// checkRange reports a number or duration unless it is one of those that a tag range lists, such as
// 0|1h..8760h, or 1ms.. for any positive whole number of milliseconds. The tag wrong is what the
// message says behind the value.
func (ps *problems) checkRange(p path, v reflect.Value, allowed, wrong string) bool {
	if inRange(v, allowed) {
		return true
	}
	usual := "is not a positive whole number of milliseconds; write one, such as 1500ms"
	if strings.HasPrefix(allowed, "0..") {
		usual = "is negative; write 0s or more"
	}
	ps.at(p, "%v %s", v.Interface(), cmp.Or(wrong, usual))
	return false
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

func (ps *problems) checkZone(p path, name string) {
	if _, err := schedule.LoadZone(name); err != nil {
		ps.at(p, "%v", err)
	}
}
