// Package config reads config.yaml, and reports its mistakes. Package replica and the commands
// work with the Config that it returns.
//
// A configuration passes these steps:
//
//  1. read.go layers it with koanf: the file, then environment variables that start with
//     QUORATE__, then --set (see Source). document.go parses the YAML, and remembers where
//     each value was written.
//  2. decode.go fills a Config, strictly: a key this release does not know is an error, so no
//     setting is ever silently ignored.
//  3. check.go checks it: single values by the tags of their fields (package settings), then
//     the sections and jobs, in the files that are named after them.
//  4. program.go puts the settings and jobs of a program over it.
//  5. jobs.go makes the jobs of the scheduler, and cluster.go what opens the store.
//
// Read reports all mistakes at once as a *settings.Error, each in one line with its place:
//
//	config.yaml:12:8: lock.ttl: 25s is not below redis.restart_grace (20s), …
//
// shown.go writes a Config for people, secret.go keeps secrets out of messages, and schema.go
// describes the file for editors.
//
// Any string may hold ${env:NAME} and ${file:/path}. In redis.username,
// redis.password, the URLs of nodes and the params of jobs these are resolved
// when they are used, so a configuration can be checked where its secrets are
// not; elsewhere when the configuration is read. A late reference is kept as it is, without
// its value.
package config

import (
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/schedule"
)

// Config is the shape of config.yaml. It is the one source of the keys, their
// defaults (Default) and the JSON schema (Schema). A program may also
// fill it in code and hand it to New, starting from Default.
//
// A reference in a settings.Secret such as ${file:/run/secrets/redis} is kept as it is and
// resolved only when used.
type Config struct {
	Namespace string                    `json:"namespace,omitempty" jsonschema:"Prefix of every Redis key, in braces, and the name of the schema in PostgreSQL and of the database in MySQL. Replicas with the same namespace and store form one cluster."`
	Service   string                    `json:"service,omitempty" jsonschema:"Name of the service that the namespace belongs to. The store keeps the first one; replicas that name another, or none, do not start. Default: none."`
	Replica   settings.Replica          `json:"replica,omitzero" jsonschema:"Settings of this process."`
	Redis     settings.Redis            `json:"redis,omitzero" jsonschema:"The Redis nodes that vote, and how to reach them."`
	Postgres  settings.Postgres         `json:"postgres,omitzero" jsonschema:"The PostgreSQL database that keeps everything, in place of Redis nodes."`
	MySQL     settings.MySQL            `json:"mysql,omitzero" jsonschema:"The MySQL or MariaDB server that keeps everything, in place of Redis nodes. It takes the program quorate-mysql."`
	SQLite    settings.SQLite           `json:"sqlite,omitzero" jsonschema:"The SQLite file that keeps everything for the processes of one host, in place of Redis nodes. It takes the program quorate-sqlite."`
	Etcd      settings.Etcd             `json:"etcd,omitzero" jsonschema:"The etcd cluster that keeps everything, in place of Redis nodes. It takes the program quorate-etcd."`
	ZooKeeper settings.ZooKeeper        `json:"zookeeper,omitzero" jsonschema:"The ZooKeeper ensemble that keeps everything, in place of Redis nodes. It takes the program quorate-zookeeper."`
	Lock      settings.Lock             `json:"lock,omitzero" jsonschema:"How long the lease of a run lasts, and when it is extended."`
	HTTP      settings.HTTP             `json:"http,omitzero" jsonschema:"The API, the dashboard, the probes and the metrics of this replica."`
	Metrics   MetricsConfig             `json:"metrics,omitzero" jsonschema:"Limits of the metrics for Prometheus."`
	Log       LogConfig                 `json:"log,omitzero" jsonschema:"The log of this replica."`
	Scheduler settings.Scheduler        `json:"scheduler,omitzero" jsonschema:"Settings for all jobs of this replica."`
	Defaults  JobPolicy                 `json:"defaults,omitzero" jsonschema:"Settings for jobs without a value of their own."`
	Calendars map[string]CalendarConfig `json:"calendars,omitempty" jsonschema:"Days and times without ticks. Jobs name them under exclude."`
	Jobs      map[string]JobConfig      `json:"jobs,omitempty" jsonschema:"The jobs by name. A name has letters, digits, dots, underscores and dashes."`
	Webhooks  []settings.Webhook        `json:"webhooks,omitempty" jsonschema:"Endpoints that get the events of ticks and runs."`
	Groups    map[string]GroupConfig    `json:"groups,omitempty" jsonschema:"Limits that several jobs share in the whole cluster, by name."`

	origin   *origin  // where each value was written; nil for a Config made in code
	outdated []string // settings that have another value in the file by now, which a restart takes in
}

// MetricsConfig bounds what is counted for Prometheus.
type MetricsConfig struct {
	MaxJobs int `json:"max_jobs,omitempty" range:"0.." wrong:"is negative; write 0 to count all jobs together, or more" jsonschema:"How many jobs have metrics of their own: the first by name. The others share one, called other. 0: all share one."`
}

// LogConfig says what is logged, and how.
type LogConfig struct {
	Level  string `json:"level,omitempty" choices:"info,debug,warn,error" jsonschema:"The least level that is logged."`
	Format string `json:"format,omitempty" choices:"text,json" jsonschema:"Form of a log line."`
}

// JobPolicy holds the settings that jobs have in common.
type JobPolicy struct {
	Timezone  string             `json:"timezone,omitempty" jsonschema:"Time zone of the schedule; default: scheduler.timezone."`
	DST       schedule.DSTPolicy `json:"dst,omitzero" jsonschema:"Ticks at changes of the clocks."`
	Exclude   []string           `json:"exclude,omitempty" jsonschema:"Names of calendars whose days and times have no tick."`
	StartsAt  time.Time          `json:"starts_at,omitzero" jsonschema:"No tick comes before this time."`
	EndsAt    time.Time          `json:"ends_at,omitzero" jsonschema:"No tick comes at this time or after it."`
	Jitter    time.Duration      `json:"jitter,omitempty" jsonschema:"Each tick starts up to this much later. All replicas compute the same delay. Shorter than the time between two ticks."`
	Timeout   time.Duration      `json:"timeout,omitempty" range:"1ms.." jsonschema:"Limit of one run."`
	Overlap   jobs.Overlap       `json:"overlap,omitempty" jsonschema:"For a tick that comes during an earlier run. skip: it waits within its window, then it is skipped. queue: it waits for the end of the run, or until the next tick comes. cancel_previous: it ends the run. allow: it runs at the same time, and a guard refuses the older run once the newer one has written."`
	CatchUp   jobs.CatchUp       `json:"catch_up,omitzero" jsonschema:"Which ticks run later if no replica, or no quorum, could run them in time."`
	OnCrash   jobs.OnCrash       `json:"on_crash,omitempty" jsonschema:"For a tick whose replica died. skip: it runs at most once. rerun: it runs again elsewhere, with a larger token."`
	Retry     jobs.Retry         `json:"retry,omitzero" jsonschema:"Further calls of a function that failed, in the same run."`
	Labels    map[string]string  `json:"labels,omitempty" jsonschema:"Only replicas with all of these replica.labels run the job."`
	Group     string             `json:"group,omitempty" jsonschema:"A name under groups, whose max_running holds in the whole cluster."`
	Priority  int                `json:"priority,omitempty" jsonschema:"If a limit makes jobs wait, the larger number goes first. It may be negative."`
	LateAfter time.Duration      `json:"late_after,omitempty" range:"0.." jsonschema:"The log and webhooks report runs that start later than this. 0s: none."`
	History   HistoryConfig      `json:"history,omitzero" jsonschema:"How much of the past is kept. Claims do not depend on it."`
	Tags      []string           `json:"tags,omitempty" jsonschema:"Names by which you can pause many jobs at once."`
	Paused    bool               `json:"paused,omitempty" jsonschema:"true: all ticks are skipped. A trigger still runs the job."`
}

// HistoryConfig bounds what is kept of a job's ticks, runs and logs.
type HistoryConfig struct {
	Keep     int           `json:"keep,omitempty" range:"1..1000" wrong:"entries; write 1 to 1000" jsonschema:"How many entries, and how many logs of runs, are kept: the newest, at most 1000. On etcd and ZooKeeper the default is 100."`
	MaxAge   time.Duration `json:"max_age,omitempty" range:"0.." jsonschema:"Older entries and logs are dropped, but never the newest entry. 0s: no limit."`
	MaxBytes int           `json:"max_bytes,omitempty" range:"0.." wrong:"is negative; write 0 to keep no logs, or more" jsonschema:"Limit of all logs of the job together, on each node, in bytes. 0: no logs are kept."`
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
	cfg := &Config{
		Namespace: "quorate",
		Redis:     settings.Redis{NodeTimeout: 200 * time.Millisecond, RestartGrace: 20 * time.Second, Copies: new(0), Durable: new(false)},
		Postgres:  settings.Postgres{Timeout: time.Second, FailoverGrace: 20 * time.Second, Durable: new(false)},
		MySQL:     settings.MySQL{Timeout: time.Second, FailoverGrace: 20 * time.Second},
		SQLite:    settings.SQLite{Timeout: time.Second, RestoreGrace: 20 * time.Second},
		Etcd:      settings.Etcd{Timeout: time.Second, RestoreGrace: 20 * time.Second},
		ZooKeeper: settings.ZooKeeper{Timeout: time.Second, RestoreGrace: 20 * time.Second},
		Lock:      settings.Lock{TTL: 15 * time.Second, MaxHold: new(time.Duration(0))},
		Metrics:   MetricsConfig{MaxJobs: 100},
		HTTP:      settings.HTTP{Anonymous: "none", AnonymousMetrics: "none"},
		Log:       LogConfig{Level: "info", Format: "text"},
		Scheduler: settings.Scheduler{
			Timezone: "UTC", DrainTimeout: 20 * time.Second, Stagger: new(20 * time.Millisecond), MaxClockOffset: 500 * time.Millisecond,
			ReloadEvery: new(5 * time.Second), SourceEvery: 30 * time.Second, ForgetAfter: new(30 * 24 * time.Hour), MaxRunning: new(0),
		},
		Defaults: DefaultPolicy(),
	}
	cfg.HTTP.TrustedProxies.Role = "none"
	return cfg
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
