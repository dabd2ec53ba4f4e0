// Package config is config.yaml: its keys and defaults, how it is read, and what is
// wrong with it. Package replica and the commands work with what it returns.
//
// A configuration is layered by koanf: the file, then environment variables
// that start with QUORATE__, then --set (see Source), then what the program says
// itself. It is decoded strictly: a key this release does not know is an error, so no
// setting is ever silently ignored. Read reports all mistakes at once as an *Error, each
// in one line with its place:
//
//	config.yaml:12:8: lock.ttl: 25s is not below redis.restart_grace (20s), …
//
// Any string may hold ${env:NAME} and ${file:/path}. In redis.username,
// redis.password, the URLs of nodes and the params of jobs these are resolved
// when they are used, so a configuration can be checked where its secrets are
// not; elsewhere when the configuration is read. A Config keeps the reference,
// never what it stands for.
package config

import (
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/schedule"
)

// Config is the shape of config.yaml. It is the one source of the keys, their
// defaults (Default) and the JSON schema (Schema). A program may also
// fill it in code and hand it to New, starting from Default.
//
// Strings tagged resolve:"late" may hold secrets: a reference in them such as
// ${file:/run/secrets/redis} is kept as it is and resolved only when used.
type Config struct {
	Namespace string                    `json:"namespace,omitempty" jsonschema:"Prefix of every Redis key, in braces, and the name of the schema in PostgreSQL. Replicas with the same namespace and store form one cluster."`
	Service   string                    `json:"service,omitempty" jsonschema:"Name of the service that the namespace belongs to. The store keeps the first one; replicas that name another, or none, do not start. Default: none."`
	Replica   ProcessConfig             `json:"replica,omitzero" jsonschema:"Settings of this process."`
	Redis     RedisConfig               `json:"redis,omitzero" jsonschema:"The Redis nodes that vote, and how to reach them."`
	Postgres  PostgresConfig            `json:"postgres,omitzero" jsonschema:"The PostgreSQL database that keeps everything, in place of Redis nodes."`
	Etcd      EtcdConfig                `json:"etcd,omitzero" jsonschema:"The etcd cluster that keeps everything, in place of Redis nodes. It takes the program quorate-etcd."`
	ZooKeeper ZooKeeperConfig           `json:"zookeeper,omitzero" jsonschema:"The ZooKeeper ensemble that keeps everything, in place of Redis nodes. It takes the program quorate-zookeeper."`
	Lock      LockConfig                `json:"lock,omitzero" jsonschema:"How long the lease of a run lasts, and when it is extended."`
	HTTP      HTTPConfig                `json:"http,omitzero" jsonschema:"The API, the dashboard, the probes and the metrics of this replica."`
	Metrics   MetricsConfig             `json:"metrics,omitzero" jsonschema:"Limits of the metrics for Prometheus."`
	Log       LogConfig                 `json:"log,omitzero" jsonschema:"The log of this replica."`
	Scheduler SchedulerConfig           `json:"scheduler,omitzero" jsonschema:"Settings for all jobs of this replica."`
	Defaults  JobPolicy                 `json:"defaults,omitzero" jsonschema:"Settings for jobs without a value of their own."`
	Calendars map[string]CalendarConfig `json:"calendars,omitempty" jsonschema:"Days and times without ticks. Jobs name them under exclude."`
	Jobs      map[string]JobConfig      `json:"jobs,omitempty" jsonschema:"The jobs by name. A name has letters, digits, dots, underscores and dashes."`
	Webhooks  []WebhookConfig           `json:"webhooks,omitempty" jsonschema:"Endpoints that get the events of ticks and runs."`
	Groups    map[string]GroupConfig    `json:"groups,omitempty" jsonschema:"Limits that several jobs share in the whole cluster, by name."`

	origin *origin // where each value was written; nil for a Config made in code
}

// ProcessConfig names this process.
type ProcessConfig struct {
	ID     string            `json:"id,omitempty" jsonschema:"Name of this replica; default: host name and random hex digits, new at each start."`
	Labels map[string]string `json:"labels,omitempty" jsonschema:"Labels by which jobs choose replicas, such as zone: a."`
}

// RedisConfig names the nodes, or the one Redis, and says how to reach and to trust them.
type RedisConfig struct {
	Nodes        []NodeEntry   `json:"nodes,omitempty" jsonschema:"1, 3, 5 or 7 independent Redis masters."`
	URL          string        `json:"url,omitempty" resolve:"late" jsonschema:"One Redis in place of nodes, by an address that stays after a failover: redis://[user:password@]host[:port], or rediss:// for TLS."`
	Sentinel     Sentinel      `json:"sentinel,omitzero" jsonschema:"One Redis in place of nodes: the master that Sentinels name."`
	Cluster      RedisCluster  `json:"cluster,omitzero" jsonschema:"One Redis in place of nodes: the server of a Redis Cluster that has the keys of the namespace."`
	Copies       int           `json:"copies,omitempty" jsonschema:"Number of all replicas of the one Redis: a claim counts when all of them have it. 0: a tick may run twice if an old master still runs after a failover."`
	Username     string        `json:"username,omitempty" resolve:"late" jsonschema:"ACL user, for nodes whose URL has none."`
	Password     string        `json:"password,omitempty" resolve:"late" jsonschema:"Password, for nodes whose URL has none. Better a reference: ${env:NAME} or ${file:/path}."`
	TLS          TLSConfig     `json:"tls,omitzero" jsonschema:"For nodes with a rediss:// URL."`
	NodeTimeout  time.Duration `json:"node_timeout,omitempty" jsonschema:"Limit of one call to one node; below lock.ttl/4."`
	RestartGrace time.Duration `json:"restart_grace,omitempty" jsonschema:"How long a restarted node abstains; above lock.ttl. The nodes store it."`
	Durable      bool          `json:"durable,omitempty" jsonschema:"true if no node ever loses data: appendfsync always, and no failover that loses any."`
}

// Sentinel says where to ask for the master.
type Sentinel struct {
	Master    string   `json:"master" jsonschema:"Name under which the Sentinels watch it, such as mymaster."`
	Addresses []string `json:"addresses" resolve:"late" jsonschema:"URLs of the Sentinels, with their user and password: redis://10.0.0.1:26379. With rediss:// the master speaks TLS, too."`
}

// RedisCluster says where to ask for the servers of a Redis Cluster.
type RedisCluster struct {
	Addresses []string `json:"addresses" resolve:"late" jsonschema:"URLs of some of its servers: redis://10.0.0.1:6379."`
}

// PostgresConfig names the database and says how long to wait for it.
type PostgresConfig struct {
	URL           string        `json:"url" resolve:"late" jsonschema:"postgres://user@host:5432/database. Better with a reference as its password: ${env:NAME} or ${file:/path}."`
	Timeout       time.Duration `json:"timeout,omitempty" jsonschema:"Limit of one call; below lock.ttl/4."`
	FailoverGrace time.Duration `json:"failover_grace,omitempty" jsonschema:"How long no tick runs after another server has taken over; above lock.ttl."`
	Durable       bool          `json:"durable,omitempty" jsonschema:"true if no failover loses what was committed."`
}

// EtcdConfig names the members of an etcd cluster and says how to reach and to trust them.
type EtcdConfig struct {
	Endpoints    []string      `json:"endpoints" jsonschema:"The URLs of all members, such as https://10.0.0.1:2379."`
	Username     string        `json:"username,omitempty" resolve:"late" jsonschema:"User of etcd, if it has users."`
	Password     string        `json:"password,omitempty" resolve:"late" jsonschema:"Password of that user. Better a reference: ${env:NAME} or ${file:/path}."`
	TLS          TLSConfig     `json:"tls,omitzero" jsonschema:"For https:// endpoints."`
	Timeout      time.Duration `json:"timeout,omitempty" jsonschema:"Limit of one call; below lock.ttl/4."`
	RestoreGrace time.Duration `json:"restore_grace,omitempty" jsonschema:"After a backup was restored, no tick runs for one and a half of it; above lock.ttl."`
}

// ZooKeeperConfig names the servers of a ZooKeeper ensemble and says how to reach and to trust them.
type ZooKeeperConfig struct {
	Servers      []string      `json:"servers" jsonschema:"All servers, as host:port, such as 10.0.0.1:2181."`
	Chroot       string        `json:"chroot,omitempty" jsonschema:"The node below which all nodes are, such as /apps; default: the root."`
	Username     string        `json:"username,omitempty" resolve:"late" jsonschema:"User of the digest scheme. Only this user has rights to the nodes that replicas create."`
	Password     string        `json:"password,omitempty" resolve:"late" jsonschema:"Password of that user. Better a reference: ${env:NAME} or ${file:/path}."`
	TLS          TLSConfig     `json:"tls,omitzero" jsonschema:"Set any of its keys to reach the servers by TLS."`
	Timeout      time.Duration `json:"timeout,omitempty" jsonschema:"Limit of one call; below lock.ttl/4."`
	RestoreGrace time.Duration `json:"restore_grace,omitempty" jsonschema:"After a backup was restored, no tick runs for one and a half of it; above lock.ttl."`
}

// A NodeEntry is one node of the list: a URL, or a URL with a name.
type NodeEntry struct {
	Name string `json:"name,omitempty" jsonschema:"Name of the node, by which replicas know it; default: host:port."`
	URL  string `json:"url" resolve:"late" jsonschema:"redis://[user:password@]host[:port], or rediss:// for TLS."`
}

// TLSConfig adds to what rediss:// URLs say.
type TLSConfig struct {
	CAFile     string `json:"ca_file,omitempty" jsonschema:"PEM file with the certificates to trust instead of those of the system."`
	CertFile   string `json:"cert_file,omitempty" jsonschema:"PEM file with the client certificate."`
	KeyFile    string `json:"key_file,omitempty" jsonschema:"PEM file with the key of the client certificate."`
	ServerName string `json:"server_name,omitempty" jsonschema:"Name in the certificates of the nodes, if it is not their host."`
}

// LockConfig bounds the lease of a run.
type LockConfig struct {
	TTL          time.Duration `json:"ttl,omitempty" jsonschema:"Length of a lease: how long a dead replica blocks its job. Below redis.restart_grace or postgres.failover_grace."`
	ExtendEvery  time.Duration `json:"extend_every,omitempty" jsonschema:"Pause between two extensions of a lease; default: ttl/3."`
	SafetyMargin time.Duration `json:"safety_margin,omitempty" jsonschema:"The context of a run ends this long before its lease; default: ttl/10."`
	MaxHold      time.Duration `json:"max_hold,omitempty" jsonschema:"Limit of the lease of one run, whatever its timeout; at least ttl. 0s: no limit."`
}

// HTTPConfig says what is served over HTTP.
type HTTPConfig struct {
	Listen           string                `json:"listen,omitempty" jsonschema:"host:port of the API and the dashboard, such as 127.0.0.1:8080. Without probes_listen it also serves the probes and metrics. Empty: off. Port 0: any free port, which the log names."`
	BasePath         string                `json:"base_path,omitempty" jsonschema:"Prefix of all paths, such as /admin/cron, for a proxy that passes it on."`
	TLS              ServerTLSConfig       `json:"tls,omitzero" jsonschema:"Certificate of listen; without one it speaks plain HTTP."`
	Anonymous        identity.Anonymous    `json:"anonymous,omitempty" jsonschema:"Requests that may read without a user. loopback: those from this machine that name no proxy. all: those that come from no trusted proxy. Commands always need a user."`
	AnonymousMetrics identity.Anonymous    `json:"anonymous_metrics,omitempty" jsonschema:"The same for /metrics on listen. On probes_listen /metrics is open to everyone."`
	Users            map[string]UserConfig `json:"users,omitempty" jsonschema:"The users by name."`
	UsersFile        string                `json:"users_file,omitempty" jsonschema:"YAML file with more users, in the form of users. The replica reads it again when it changes."`
	TrustedProxies   ProxyConfig           `json:"trusted_proxies,omitzero" jsonschema:"Proxies that may name the user, for single sign-on."`
	ProbesListen     string                `json:"probes_listen,omitempty" jsonschema:"host:port for /healthz, /readyz and /metrics alone. Empty: listen serves them. Port 0: any free port, which the log names."`
}

// ServerTLSConfig is the certificate of a server. The files are read again when they
// have changed.
type ServerTLSConfig struct {
	CertFile string `json:"cert_file,omitempty" jsonschema:"PEM file with the certificate, and those that lead to its authority."`
	KeyFile  string `json:"key_file,omitempty" jsonschema:"PEM file with its key."`
}

// UserConfig is what one user may do, and how they log in.
type UserConfig struct {
	Role     identity.Role `json:"role,omitempty" jsonschema:"viewer: reads. operator: also triggers, pauses, resumes, backfills and cancels. admin: also takes locks away."`
	Password string        `json:"password,omitempty" resolve:"late" jsonschema:"Output of quorate users password, or a reference to that."`
	Token    string        `json:"token,omitempty" resolve:"late" jsonschema:"Output of quorate users token, or a reference to that."`
}

// ProxyConfig says whose word counts.
type ProxyConfig struct {
	Addresses  []string  `json:"addresses,omitempty" jsonschema:"Addresses of the proxies, such as 10.0.0.7 or 10.0.0.0/8. X-Forwarded-For counts from them, too."`
	UserHeader string    `json:"user_header,omitempty" jsonschema:"Header with the name of the user, such as X-Forwarded-User. The proxy must remove it from the requests of its clients."`
	Role       ProxyRole `json:"role,omitempty" jsonschema:"Role of users whom the proxy names and users does not list."`
}

// MetricsConfig bounds what is counted for Prometheus.
type MetricsConfig struct {
	MaxJobs int `json:"max_jobs,omitempty" jsonschema:"How many jobs have metrics of their own: the first by name. The others share one, called other. 0: all share one."`
}

// LogConfig says what is logged, and how.
type LogConfig struct {
	Level  LogLevel  `json:"level,omitempty" jsonschema:"The least level that is logged."`
	Format LogFormat `json:"format,omitempty" jsonschema:"Form of a log line."`
}

// SchedulerConfig holds what concerns all jobs of a replica.
type SchedulerConfig struct {
	Timezone       string        `json:"timezone,omitempty" jsonschema:"Time zone of schedules that name none, such as Europe/Paris."`
	DrainTimeout   time.Duration `json:"drain_timeout,omitempty" jsonschema:"How long running jobs may take to end after SIGTERM."`
	Stagger        time.Duration `json:"stagger,omitempty" jsonschema:"Pause between the tries of two replicas for one tick, by rank; about three round trips."`
	ReloadEvery    time.Duration `json:"reload_every,omitempty" jsonschema:"How often the replica checks whether this file has changed. 0s: it reads it again only at SIGHUP."`
	SourceEvery    time.Duration `json:"source_every,omitempty" jsonschema:"How often the source of jobs of your program is asked, if there is one."`
	ForgetAfter    time.Duration `json:"forget_after,omitempty" jsonschema:"The store drops the claims, ledger and logs of a job that no replica served for so long; 1h to 8760h. 0s: never."`
	MaxClockOffset time.Duration `json:"max_clock_offset,omitempty" jsonschema:"A replica whose clock is further than this from the median of the clocks of the nodes tries last."`
	MaxRunning     int           `json:"max_running,omitempty" jsonschema:"How many runs this replica has at once; other replicas run the rest. 0: no limit."`
}

// JobPolicy holds the settings that jobs have in common.
type JobPolicy struct {
	Timezone  string             `json:"timezone,omitempty" jsonschema:"Time zone of the schedule; default: scheduler.timezone."`
	DST       schedule.DSTPolicy `json:"dst,omitzero" jsonschema:"Ticks at changes of the clocks."`
	Exclude   []string           `json:"exclude,omitempty" jsonschema:"Names of calendars whose days and times have no tick."`
	StartsAt  time.Time          `json:"starts_at,omitzero" jsonschema:"No tick comes before this time."`
	EndsAt    time.Time          `json:"ends_at,omitzero" jsonschema:"No tick comes at this time or after it."`
	Jitter    time.Duration      `json:"jitter,omitempty" jsonschema:"Each tick starts up to this much later. All replicas compute the same delay. Shorter than the time between two ticks."`
	Timeout   time.Duration      `json:"timeout,omitempty" jsonschema:"Limit of one run."`
	Overlap   jobs.Overlap       `json:"overlap,omitempty" jsonschema:"For a tick that comes during an earlier run. skip: it waits within its window, then it is skipped. queue: it waits for the end of the run, or until the next tick comes. cancel_previous: it ends the run. allow: it runs at the same time, and a guard refuses the older run once the newer one has written."`
	CatchUp   jobs.CatchUp       `json:"catch_up,omitzero" jsonschema:"Which ticks run later if no replica, or no quorum, could run them in time."`
	OnCrash   jobs.OnCrash       `json:"on_crash,omitempty" jsonschema:"For a tick whose replica died. skip: it runs at most once. rerun: it runs again elsewhere, with a larger token."`
	Retry     jobs.Retry         `json:"retry,omitzero" jsonschema:"Further calls of a function that failed, in the same run."`
	Labels    map[string]string  `json:"labels,omitempty" jsonschema:"Only replicas with all of these replica.labels run the job."`
	Group     string             `json:"group,omitempty" jsonschema:"A name under groups, whose max_running holds in the whole cluster."`
	Priority  int                `json:"priority,omitempty" jsonschema:"If a limit makes jobs wait, the larger number goes first. It may be negative."`
	LateAfter time.Duration      `json:"late_after,omitempty" jsonschema:"The log and webhooks report runs that start later than this. 0s: none."`
	History   HistoryConfig      `json:"history,omitzero" jsonschema:"How much of the past is kept. Claims do not depend on it."`
	Tags      []string           `json:"tags,omitempty" jsonschema:"Names by which you can pause many jobs at once."`
	Paused    bool               `json:"paused,omitempty" jsonschema:"true: all ticks are skipped. A trigger still runs the job."`
}

// HistoryConfig bounds what is kept of a job's ticks, runs and logs.
type HistoryConfig struct {
	Keep     int           `json:"keep,omitempty" jsonschema:"How many entries, and how many logs of runs, are kept: the newest, at most 1000. On etcd and ZooKeeper the default is 100."`
	MaxAge   time.Duration `json:"max_age,omitempty" jsonschema:"Older entries and logs are dropped, but never the newest entry. 0s: no limit."`
	MaxBytes int           `json:"max_bytes,omitempty" jsonschema:"Limit of all logs of the job together, on each node, in bytes. 0: no logs are kept."`
}

// JobConfig is one job.
type JobConfig struct {
	Func        string         `json:"func" jsonschema:"Name of a registered function. Built in: exec and http."`
	Schedule    Specs          `json:"schedule" jsonschema:"5 to 7 cron fields, @daily and similar, @every 30s, or @at 2027-01-01T00:00:00Z; or a list of these."`
	Params      map[string]any `json:"params,omitempty" jsonschema:"Parameters of the function. Unknown and wrong ones are mistakes."`
	Description string         `json:"description,omitempty" jsonschema:"Text for people."`
	OnSuccess   []string       `json:"on_success,omitempty" jsonschema:"Jobs to trigger after a success."`
	OnFailure   []string       `json:"on_failure,omitempty" jsonschema:"Jobs to trigger after a failure or a timeout."`
	Program     *jobs.Job      `json:"-"` // has what only a program gives a job; nil: it is in the file
	Formerly    string         `json:"formerly,omitempty" jsonschema:"The first name of a renamed job: it keeps its ledger, claims and tokens. Leave it there for good."`
	JobPolicy
}

// GroupConfig bounds the runs of the jobs that name it.
type GroupConfig struct {
	MaxRunning int `json:"max_running" jsonschema:"How many of the jobs may run at once in the whole cluster; at least 1."`
}

// Default returns the configuration that an empty file stands for. It
// still needs a store.
func Default() *Config {
	return &Config{
		Namespace: "quorate",
		Redis:     RedisConfig{NodeTimeout: 200 * time.Millisecond, RestartGrace: 20 * time.Second},
		Postgres:  PostgresConfig{Timeout: time.Second, FailoverGrace: 20 * time.Second},
		Etcd:      EtcdConfig{Timeout: time.Second, RestoreGrace: 20 * time.Second},
		ZooKeeper: ZooKeeperConfig{Timeout: time.Second, RestoreGrace: 20 * time.Second},
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
		DST:     schedule.DSTPolicy{Gap: "run_after", Overlap: "first"},
		Timeout: jobs.DefaultTimeout,
		Overlap: "skip",
		CatchUp: jobs.CatchUp{Mode: "none", Window: jobs.DefaultCatchUpWindow, Max: jobs.DefaultCatchUpMax},
		OnCrash: "skip",
		Retry:   jobs.Retry{Attempts: 1, Backoff: jobs.DefaultBackoff, MaxBackoff: jobs.DefaultMaxBackoff},
		History: HistoryConfig{Keep: jobs.MaxKeep, MaxBytes: jobs.DefaultLogBytes},
	}
}

// A choice is a string with a closed list of values, which decoding and the JSON schema use.
// The policies of package scheduler are choices, too.
type choice interface{ Values() []string }

// LogLevel is the least level that is logged: debug, info, warn or error.
type LogLevel string

// Values implements choice.
func (LogLevel) Values() []string { return []string{"info", "debug", "warn", "error"} }

// LogFormat is the form of a log line: text or json.
type LogFormat string

// Values implements choice.
func (LogFormat) Values() []string { return []string{"text", "json"} }

// ProxyRole is what a user may do whom only a proxy knows: none, viewer, operator or
// admin.
type ProxyRole string

// Values implements choice.
func (ProxyRole) Values() []string { return []string{"none", "viewer", "operator", "admin"} }
