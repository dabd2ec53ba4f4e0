package deploy

// An alternative is a value of the chart that is not the default.
type alternative struct {
	value string // as YAML
	with  string // more values that it needs, as YAML
	shows string // what is then in the objects, and is not by default
	drops string // what was there by default and is no longer
}

// alternatives has one for each value of values.yaml.
var alternatives = map[string]alternative{
	"replicaCount":                  {value: `5`, shows: "replicas: 5"},
	"config.redis.nodes":            {value: `["redis://only:6379"]`, shows: "- redis://only:6379", drops: "redis-a"},
	"config.http.listen":            {value: `":9090"`, shows: "{name: dashboard, containerPort: 9090}"},
	"config.http.anonymous":         {value: `none`, shows: "anonymous: none"},
	"config.http.probes_listen":     {value: `0.0.0.0:9091`, shows: "{name: probes, containerPort: 9091}"},
	"config.log.format":             {value: `text`, shows: "format: text"},
	"config.jobs":                   {value: `{report: {func: exec, schedule: "0 2 * * *", params: {command: [quorate, version]}}}`, shows: "schedule: 0 2 * * *"},
	"secretFiles":                   {value: `[billing.redis]`, shows: "mountPath: /run/secrets/billing.redis"},
	"env":                           {value: `[{name: PGPASSWORD, valueFrom: {secretKeyRef: {name: billing, key: password}}}]`, shows: "name: PGPASSWORD"},
	"migrate":                       {value: `true`, shows: "args: [store, migrate]"},
	"image.repository":              {value: `registry.example/billing`, shows: "image: registry.example/billing:"},
	"image.tag":                     {value: `"1.2"`, shows: "quorate:1.2\n"},
	"image.digest":                  {value: `sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef`, shows: "quorate@sha256:0123456789abcdef"},
	"image.pullPolicy":              {value: `Always`, shows: "imagePullPolicy: Always"},
	"imagePullSecrets":              {value: `[{name: registry}]`, shows: "imagePullSecrets:"},
	"terminationGracePeriodSeconds": {value: `300`, shows: "terminationGracePeriodSeconds: 300"},
	"resources.requests.cpu":        {value: `"2"`, shows: "cpu: \"2\""},
	"resources.requests.memory":     {value: `1Gi`, shows: "memory: 1Gi"},
	"resources.limits.memory":       {value: `2Gi`, shows: "memory: 2Gi"},

	"serviceAccount.create":                       {value: `false`, shows: "serviceAccountName: default", drops: "kind: ServiceAccount"},
	"serviceAccount.name":                         {value: `billing`, shows: "serviceAccountName: billing"},
	"serviceAccount.annotations":                  {value: `{a/role: b}`, shows: "a/role: b"},
	"serviceAccount.automountServiceAccountToken": {value: `true`, shows: "automountServiceAccountToken: true", drops: "automountServiceAccountToken: false"},
	"prometheusRule.enabled":                      {value: `true`, shows: "kind: PrometheusRule"},
	"prometheusRule.labels":                       {value: `{release: monitoring}`, with: `prometheusRule: {enabled: true}`, shows: "release: monitoring"},
	"grafanaDashboard.enabled":                    {value: `true`, shows: "grafana_dashboard: \"1\""},
	"grafanaDashboard.labels.grafana_dashboard":   {value: `"2"`, with: `grafanaDashboard: {enabled: true}`, shows: "grafana_dashboard: \"2\"", drops: "grafana_dashboard: \"1\""},
	"grafanaDashboard.annotations":                {value: `{grafana_folder: Cron}`, with: `grafanaDashboard: {enabled: true}`, shows: "grafana_folder: Cron"},

	"podDisruptionBudget.maxUnavailable": {value: `50%`, shows: "maxUnavailable: 50%"},
	"spread.hostname":                    {value: `DoNotSchedule`, shows: "whenUnsatisfiable: DoNotSchedule"},
	"spread.zone":                        {value: `""`, drops: "topology.kubernetes.io/zone"},
	"networkPolicy.enabled":              {value: `false`, drops: "kind: NetworkPolicy"},
	"networkPolicy.dashboardFrom":        {value: `[{podSelector: {}}]`, with: `config: {http: {listen: ":8080"}}`, shows: "[{port: dashboard}]"},
	"networkPolicy.metricsFrom":          {value: `[{namespaceSelector: {matchLabels: {name: monitoring}}}]`, shows: "[{port: probes}]"},
	"networkPolicy.egress":               {value: `[{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]`, shows: "policyTypes: [Ingress, Egress]"},
	"service.port":                       {value: `8000`, with: `config: {http: {listen: ":8080"}}`, shows: "port: 8000"},
	"service.annotations":                {value: `{a/b: c}`, with: `config: {http: {listen: ":8080"}}`, shows: "a/b: c"},
	"podMonitor.enabled":                 {value: `true`, shows: "kind: PodMonitor"},
	"podMonitor.interval":                {value: `10s`, with: `podMonitor: {enabled: true}`, shows: "interval: 10s"},
	"podMonitor.labels":                  {value: `{release: monitoring}`, with: `podMonitor: {enabled: true}`, shows: "release: monitoring"},
	"fullnameOverride":                   {value: `cron`, shows: "name: cron\n"},
	"podAnnotations":                     {value: `{note: "1"}`, shows: "note: \"1\""},
	"podLabels":                          {value: `{team: billing}`, shows: "team: billing"},
	"nodeSelector":                       {value: `{disk: ssd}`, shows: "disk: ssd"},
	"tolerations":                        {value: `[{key: spot, operator: Exists}]`, shows: "key: spot"},
	"affinity":                           {value: `{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [a]}]}]}}}`, shows: "nodeSelectorTerms:"},
	"priorityClassName":                  {value: `high`, shows: "priorityClassName: high"},
	"extraVolumes":                       {value: `[{name: tmp, emptyDir: {}}]`, shows: "name: tmp"},
	"extraVolumeMounts":                  {value: `[{name: tmp, mountPath: /tmp}]`, with: `extraVolumes: [{name: tmp, emptyDir: {}}]`, shows: "mountPath: /tmp"},
}

// refused are values that the schema has to refuse, as YAML.
var refused = []string{
	`replicas: 5`, `replicaCount: "5"`, `replicaCount: -1`, `replicaCount: 1.5`,
	`config: {jbos: {}}`, `config: {jobs: {a: {func: exec, schdule: "@daily"}}}`, `config: {redis: {nodes: [a, b]}}`, `config: {lock: {ttl: soon}}`, `config: [jobs]`, `config: null`,
	`secretFiles: [{name: a}]`, `secretFiles: [A_B]`, `env: {A: b}`, `env: [{value: b}]`, `env: [{name: A, from: b}]`,
	`migrate: "true"`, `image: {name: a}`, `image: {digest: abc}`, `image: {pullPolicy: Sometimes}`, `image: {repository: ""}`,
	`terminationGracePeriodSeconds: 60s`, `resources: {cpu: 1}`,
	`podDisruptionBudget: {minAvailable: 1}`, `podDisruptionBudget: {maxUnavailable: some}`,
	`spread: {hostname: Yes}`, `spread: {region: ScheduleAnyway}`,
	`networkPolicy: {dashboardFrom: {podSelector: {}}}`, `networkPolicy: {ingress: []}`, `networkPolicy: {enabled: 1}`,
	`service: {port: 0}`, `service: {type: LoadBalancer}`, `podMonitor: {interval: 30}`, `podMonitor: {interval: often}`,
	`serviceAccount: {create: yes please}`, `serviceAccount: {name: A_B}`, `serviceAccount: {annotations: {a: 1}}`, `serviceAccount: {automount: true}`,
	`prometheusRule: {enabled: 1}`, `prometheusRule: {labels: [a]}`, `prometheusRule: {rules: []}`,
	`grafanaDashboard: {labels: {a: 1}}`, `grafanaDashboard: {annotations: a}`, `grafanaDashboard: {folder: a}`,
	`fullnameOverride: A_B`, `podLabels: {a: 1}`, `podAnnotations: [a]`, `nodeSelector: {a: true}`, `tolerations: {}`, `affinity: []`, `extraVolumes: {}`, `extraVolumeMounts: [a]`,
}
