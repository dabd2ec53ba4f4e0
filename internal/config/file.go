package config

import (
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Config is the shape of config.yaml. It is the one source of the keys, their
// defaults (Default) and the JSON schema (Schema). A program may also
// fill it in code and hand it to New, starting from Default.
//
// Strings tagged resolve:"late" may hold secrets: a reference in them such as
// ${file:/run/secrets/redis} is kept as it is and resolved only when used.
type Config struct {
	Namespace string                    `json:"namespace,omitempty" jsonschema:"every Redis key begins with it, in braces, and it is the schema in PostgreSQL; replicas with the same namespace and store form one cluster"`
	Replica   ProcessConfig             `json:"replica,omitzero" jsonschema:"this process"`
	Redis     RedisConfig               `json:"redis,omitzero" jsonschema:"the nodes that vote, and how to reach them"`
	Postgres  PostgresConfig            `json:"postgres,omitzero" jsonschema:"the database that keeps everything, in place of Redis nodes"`
	Lock      LockConfig                `json:"lock,omitzero" jsonschema:"how long a run is protected, and how that is kept up"`
	HTTP      HTTPConfig                `json:"http,omitzero" jsonschema:"what this replica serves over HTTP"`
	Metrics   MetricsConfig             `json:"metrics,omitzero" jsonschema:"what this replica counts for Prometheus"`
	Log       LogConfig                 `json:"log,omitzero" jsonschema:"what is logged, and how"`
	Scheduler SchedulerConfig           `json:"scheduler,omitzero" jsonschema:"settings for all jobs of this replica"`
	Defaults  JobPolicy                 `json:"defaults,omitzero" jsonschema:"what holds for a job that does not say otherwise"`
	Calendars map[string]CalendarConfig `json:"calendars,omitempty" jsonschema:"days and times without ticks, by name, for exclude"`
	Jobs      map[string]JobConfig      `json:"jobs,omitempty" jsonschema:"the jobs by name: letters, digits, dots, underscores, dashes"`
	Webhooks  []WebhookConfig           `json:"webhooks,omitempty" jsonschema:"endpoints that are told what becomes of ticks and runs"`
	Groups    map[string]GroupConfig    `json:"groups,omitempty" jsonschema:"limits that jobs share in the whole cluster, by name"`

	origin *origin // where each value was written; nil for a Config made in code
}

// ProcessConfig names this process.
type ProcessConfig struct {
	ID     string            `json:"id,omitempty" jsonschema:"name of this replica; default: hostname and random hex digits, new at each start"`
	Labels map[string]string `json:"labels,omitempty" jsonschema:"what jobs may ask of this replica, such as zone: a"`
}

// RedisConfig names the nodes and says how to reach and to trust them.
type RedisConfig struct {
	Nodes        []NodeEntry   `json:"nodes" jsonschema:"1, 3, 5 or 7 independent Redis masters"`
	Username     string        `json:"username,omitempty" resolve:"late" jsonschema:"ACL user, for nodes whose URL names none"`
	Password     string        `json:"password,omitempty" resolve:"late" jsonschema:"for nodes whose URL holds none; better a reference: ${env:NAME} or ${file:/path}"`
	TLS          TLSConfig     `json:"tls,omitzero" jsonschema:"for nodes with a rediss:// URL"`
	NodeTimeout  time.Duration `json:"node_timeout,omitempty" jsonschema:"what one call of one node may take; below lock.ttl/4"`
	RestartGrace time.Duration `json:"restart_grace,omitempty" jsonschema:"how long a restarted node does not vouch for ticks; above lock.ttl; stored on the nodes"`
	Durable      bool          `json:"durable,omitempty" jsonschema:"the operator's word that no node ever forgets: appendfsync always and no failover"`
}

// PostgresConfig names the database and says how long to wait for it.
type PostgresConfig struct {
	URL           string        `json:"url" resolve:"late" jsonschema:"postgres://user@host:5432/database; better with a reference as its password: ${env:NAME} or ${file:/path}"`
	Timeout       time.Duration `json:"timeout,omitempty" jsonschema:"what one call may take; below lock.ttl/4"`
	FailoverGrace time.Duration `json:"failover_grace,omitempty" jsonschema:"how long after a failover no tick is run that may have run before; above lock.ttl"`
	Durable       bool          `json:"durable,omitempty" jsonschema:"the operator's word that no failover forgets what was committed"`
}

// A NodeEntry is one node of the list: a URL, or a URL with a name.
type NodeEntry struct {
	Name string `json:"name,omitempty" jsonschema:"what membership compares; default host:port"`
	URL  string `json:"url" resolve:"late" jsonschema:"redis://[user:password@]host[:port], or rediss:// for TLS"`
}

// TLSConfig adds to what rediss:// URLs say.
type TLSConfig struct {
	CAFile     string `json:"ca_file,omitempty" jsonschema:"certificates to trust instead of the system's, as PEM"`
	CertFile   string `json:"cert_file,omitempty" jsonschema:"client certificate, as PEM"`
	KeyFile    string `json:"key_file,omitempty" jsonschema:"key of the client certificate, as PEM"`
	ServerName string `json:"server_name,omitempty" jsonschema:"name the nodes' certificates carry, if not their host"`
}

// LockConfig bounds the lease of a run.
type LockConfig struct {
	TTL          time.Duration `json:"ttl,omitempty" jsonschema:"how long a lease lasts unless it is extended; below redis.restart_grace"`
	ExtendEvery  time.Duration `json:"extend_every,omitempty" jsonschema:"pause between extensions; default ttl/3"`
	SafetyMargin time.Duration `json:"safety_margin,omitempty" jsonschema:"the context of a job ends this long before its lease does; default ttl/10"`
	MaxHold      time.Duration `json:"max_hold,omitempty" jsonschema:"how long one run may keep its lease, whatever its timeout; at least ttl; 0: as long as it takes"`
}

// HTTPConfig says what is served over HTTP.
type HTTPConfig struct {
	Listen           string                `json:"listen,omitempty" jsonschema:"host:port for the API, and for the probes and metrics unless probes_listen is set; empty: off; port 0: any, logged"`
	BasePath         string                `json:"base_path,omitempty" jsonschema:"path that goes before every other, such as /admin/cron, where a proxy passes it on"`
	TLS              ServerTLSConfig       `json:"tls,omitzero" jsonschema:"certificate of listen; without one it speaks plain HTTP"`
	Anonymous        AnonymousReaders      `json:"anonymous,omitempty" jsonschema:"who may read without being a user: requests from this machine that name no proxy, all that come from no trusted proxy, or none; nobody acts without a user"`
	AnonymousMetrics AnonymousReaders      `json:"anonymous_metrics,omitempty" jsonschema:"the same for /metrics on listen; on probes_listen it is open to all"`
	Users            map[string]UserConfig `json:"users,omitempty" jsonschema:"who may do what, by name"`
	UsersFile        string                `json:"users_file,omitempty" jsonschema:"YAML file with further users, as under users; it is read again when it changes"`
	TrustedProxies   ProxyConfig           `json:"trusted_proxies,omitzero" jsonschema:"proxies that may say who a user is, for single sign-on"`
	ProbesListen     string                `json:"probes_listen,omitempty" jsonschema:"host:port for /healthz, /readyz and /metrics alone; empty: they are on listen, if that is set; port 0: any, logged"`
}

// ServerTLSConfig is the certificate of a server. The files are read again when they
// have changed.
type ServerTLSConfig struct {
	CertFile string `json:"cert_file,omitempty" jsonschema:"certificate, as PEM, with those that lead to its authority"`
	KeyFile  string `json:"key_file,omitempty" jsonschema:"its key, as PEM"`
}

// UserConfig is what one user may do, and how they log in.
type UserConfig struct {
	Role     UserRole `json:"role,omitempty" jsonschema:"viewer reads, operator also triggers, pauses, resumes, backfills and cancels, admin also takes locks away"`
	Password string   `json:"password,omitempty" resolve:"late" jsonschema:"as quorate users password prints it, or a reference to that"`
	Token    string   `json:"token,omitempty" resolve:"late" jsonschema:"as quorate users token prints it, or a reference to that"`
}

// ProxyConfig says whose word counts.
type ProxyConfig struct {
	Addresses  []string  `json:"addresses,omitempty" jsonschema:"of the proxies: 10.0.0.7, or 10.0.0.0/8; X-Forwarded-For counts from them, too"`
	UserHeader string    `json:"user_header,omitempty" jsonschema:"header in which they name the user, such as X-Forwarded-User; they must remove it from what others send"`
	Role       ProxyRole `json:"role,omitempty" jsonschema:"of users whom they name and users does not"`
}

// MetricsConfig bounds what is counted for Prometheus.
type MetricsConfig struct {
	MaxJobs int `json:"max_jobs,omitempty" jsonschema:"jobs that are counted one by one, the first by name; the others are counted together, as other; 0: all jobs are counted together"`
}

// LogConfig says what is logged, and how.
type LogConfig struct {
	Level  LogLevel  `json:"level,omitempty" jsonschema:"least level that is logged"`
	Format LogFormat `json:"format,omitempty" jsonschema:"form of a log line"`
}

// SchedulerConfig holds what concerns all jobs of a replica.
type SchedulerConfig struct {
	Timezone       string        `json:"timezone,omitempty" jsonschema:"time zone of schedules that name none, such as Europe/Paris"`
	DrainTimeout   time.Duration `json:"drain_timeout,omitempty" jsonschema:"how long running jobs may go on after SIGTERM"`
	Stagger        time.Duration `json:"stagger,omitempty" jsonschema:"pause between the tries of replicas for one tick, by rank; about three round trips"`
	ReloadEvery    time.Duration `json:"reload_every,omitempty" jsonschema:"pause between looks whether this file has changed; 0s: it is read again at SIGHUP only"`
	SourceEvery    time.Duration `json:"source_every,omitempty" jsonschema:"pause between questions to the source of jobs that a program may have besides this file"`
	ForgetAfter    time.Duration `json:"forget_after,omitempty" jsonschema:"how long after a replica last served a job what the nodes keep of it is dropped: claims, ledger, logs; 1h to 8760h; 0s: never"`
	MaxClockOffset time.Duration `json:"max_clock_offset,omitempty" jsonschema:"a replica whose clock is further than this from the median of the nodes' clocks tries for ticks after the others"`
	MaxRunning     int           `json:"max_running,omitempty" jsonschema:"runs that go on at once on this replica; what finds no place is left to others; 0: as many as come due"`
}

// JobPolicy holds the settings that jobs have in common.
type JobPolicy struct {
	Timezone  string            `json:"timezone,omitempty" jsonschema:"time zone of the schedule; default scheduler.timezone"`
	DST       DSTConfig         `json:"dst,omitzero" jsonschema:"what happens when clocks change"`
	Exclude   []string          `json:"exclude,omitempty" jsonschema:"names of calendars whose days and times have no tick"`
	StartsAt  time.Time         `json:"starts_at,omitzero" jsonschema:"the first instant that may have a tick"`
	EndsAt    time.Time         `json:"ends_at,omitzero" jsonschema:"no tick comes at or after this instant"`
	Jitter    time.Duration     `json:"jitter,omitempty" jsonschema:"each tick starts up to so much later, all replicas agree on how much; shorter than the time between two ticks"`
	Timeout   time.Duration     `json:"timeout,omitempty" jsonschema:"how long one run may take"`
	Overlap   scheduler.Overlap `json:"overlap,omitempty" jsonschema:"what becomes of a tick while an earlier run goes on: skip waits within its window, queue until the run has ended or the next tick comes, cancel_previous asks the run to stop, allow runs beside it (a guard refuses the older run once the newer has written)"`
	CatchUp   CatchUpConfig     `json:"catch_up,omitzero" jsonschema:"which ticks that nobody could run, for want of a replica or of a quorum, are run later"`
	OnCrash   scheduler.OnCrash `json:"on_crash,omitempty" jsonschema:"what becomes of a run whose replica died: skip runs a tick at most once, rerun at least once, with a larger token"`
	Retry     RetryConfig       `json:"retry,omitzero" jsonschema:"how often, and after which pauses, a function that failed is called again in the same run"`
	Labels    map[string]string `json:"labels,omitempty" jsonschema:"only replicas that have all of these under replica.labels run the job"`
	Group     string            `json:"group,omitempty" jsonschema:"name under groups: no more than its max_running go on at once in the whole cluster"`
	Priority  int               `json:"priority,omitempty" jsonschema:"where a limit makes jobs wait, the larger goes first; may be negative"`
	LateAfter time.Duration     `json:"late_after,omitempty" jsonschema:"a run that starts so long after its time is reported as late; 0: never"`
	History   HistoryConfig     `json:"history,omitzero" jsonschema:"how much of the past is kept; what runs a tick once does not depend on it"`
	Tags      []string          `json:"tags,omitempty" jsonschema:"names by which many jobs are paused at once"`
	Paused    bool              `json:"paused,omitempty" jsonschema:"skip its ticks; what people ask for runs all the same"`
}

// DSTConfig says what a schedule does when clocks change.
type DSTConfig struct {
	Gap     Gap         `json:"gap,omitempty" jsonschema:"a time that the clock jumps over: run after the gap, or skip"`
	Overlap RepeatedDST `json:"overlap,omitempty" jsonschema:"a time that the clock shows twice: run the first time, or both"`
}

// CatchUpConfig says which ticks that nobody could run are run later.
type CatchUpConfig struct {
	Mode   scheduler.CatchUpMode `json:"mode,omitempty" jsonschema:"none, the last of them, or all, oldest first"`
	Window time.Duration         `json:"window,omitempty" jsonschema:"how long after its time a tick may still be caught up"`
	Max    int                   `json:"max,omitempty" jsonschema:"how many are caught up after one outage: the newest"`
}

// RetryConfig says when a function that failed is called again.
type RetryConfig struct {
	Attempts       int           `json:"attempts,omitempty" jsonschema:"calls of the function, the first included; 1: no retry"`
	Backoff        time.Duration `json:"backoff,omitempty" jsonschema:"pause after the first call; doubles with each further one, and up to half of it is taken off at random"`
	MaxBackoff     time.Duration `json:"max_backoff,omitempty" jsonschema:"longest pause"`
	AttemptTimeout time.Duration `json:"attempt_timeout,omitempty" jsonschema:"how long one call may take, timeout being that of all calls and pauses; 0: as long as those"`
}

// HistoryConfig bounds what is kept of a job's ticks, runs and logs.
type HistoryConfig struct {
	Keep     int           `json:"keep,omitempty" jsonschema:"entries, and logs of runs: the newest, at most 1000"`
	MaxAge   time.Duration `json:"max_age,omitempty" jsonschema:"how old the tick of an entry or a log may be, the newest entry excepted; 0: any age"`
	MaxBytes int           `json:"max_bytes,omitempty" jsonschema:"of all logs of the job together, on each node; 0: no logs are kept"`
}

// JobConfig is one job.
type JobConfig struct {
	Func        string         `json:"func" jsonschema:"registered function; built in: exec, http"`
	Schedule    Specs          `json:"schedule" jsonschema:"5 to 7 cron fields, @daily and the like, @every 30s, or @at 2027-01-01T00:00:00Z; or a list of these"`
	Params      map[string]any `json:"params,omitempty" jsonschema:"decoded strictly into the function's own type"`
	Description string         `json:"description,omitempty" jsonschema:"for humans"`
	OnSuccess   []string       `json:"on_success,omitempty" jsonschema:"jobs that are triggered when a run has succeeded"`
	OnFailure   []string       `json:"on_failure,omitempty" jsonschema:"jobs that are triggered when a run has failed or timed out"`
	Handler     jobs.Handler   `json:"-"` // of a job of the program, instead of func
	Formerly    string         `json:"formerly,omitempty" jsonschema:"name that the job had first: it goes on under this one with its ledger, its tokens and its claims; for good"`
	JobPolicy
}

// GroupConfig bounds the runs of the jobs that name it.
type GroupConfig struct {
	MaxRunning int `json:"max_running" jsonschema:"runs that go on at once in the whole cluster; at least 1"`
}

// Default returns the configuration that an empty file stands for. It
// still needs a store.
func Default() *Config {
	return &Config{
		Namespace: "quorate",
		Redis:     RedisConfig{NodeTimeout: 200 * time.Millisecond, RestartGrace: 20 * time.Second},
		Postgres:  PostgresConfig{Timeout: time.Second, FailoverGrace: 20 * time.Second},
		Lock:      LockConfig{TTL: 15 * time.Second},
		Metrics:   MetricsConfig{MaxJobs: 100},
		HTTP:      HTTPConfig{Anonymous: "none", AnonymousMetrics: "none", TrustedProxies: ProxyConfig{Role: "none"}},
		Log:       LogConfig{Level: "info", Format: "text"},
		Scheduler: SchedulerConfig{Timezone: "UTC", DrainTimeout: 20 * time.Second, Stagger: 20 * time.Millisecond, MaxClockOffset: 500 * time.Millisecond, ReloadEvery: 5 * time.Second, SourceEvery: 30 * time.Second, ForgetAfter: 30 * 24 * time.Hour},
		Defaults:  DefaultPolicy(),
	}
}

// DefaultPolicy returns the policy of a job that says nothing.
func DefaultPolicy() JobPolicy {
	return JobPolicy{
		DST:     DSTConfig{Gap: "run_after", Overlap: "first"},
		Timeout: time.Hour,
		Overlap: "skip",
		CatchUp: CatchUpConfig{Mode: "none", Window: scheduler.DefaultCatchUpWindow, Max: scheduler.DefaultCatchUpMax},
		OnCrash: "skip",
		Retry:   RetryConfig{Attempts: 1, Backoff: scheduler.DefaultBackoff, MaxBackoff: scheduler.DefaultMaxBackoff},
		History: HistoryConfig{Keep: ledger.MaxKeep, MaxBytes: ledger.DefaultLogBytes},
	}
}
