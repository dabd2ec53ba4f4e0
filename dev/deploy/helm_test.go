//go:build helm

package deploy

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	security "k8s.io/pod-security-admission/api"
	standards "k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

func TestHelmLint(t *testing.T) {
	t.Parallel()
	for _, m := range lint.RunAll(chart, nil, "default").Messages {
		if m.Severity > support.InfoSev {
			t.Error(m)
		}
	}
}

func TestChartRenders(t *testing.T) {
	t.Parallel()
	before := renders(t, nil)
	valid(t, before, defaults(t))
	for path, a := range alternatives {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			without := before
			if a.with != "" {
				without = renders(t, tree(t, a.with))
			}
			d := renders(t, a.values(t, path))
			valid(t, d, merged(defaults(t), a.values(t, path)))
			if strings.Contains(without.text, a.shows) == (a.shows != "") || !strings.Contains(d.text, a.shows) {
				t.Errorf("%q is not what appears in\n%s", a.shows, d.text)
			}
			if strings.Contains(d.text, a.drops) == (a.drops != "") || !strings.Contains(without.text, a.drops) {
				t.Errorf("%q is not what disappears from\n%s", a.drops, d.text)
			}
		})
	}
}

// valid checks what must hold with all values.
func valid(t *testing.T, d deployment, values map[string]any) {
	t.Helper()
	config := d.config.Data["config.yaml"]
	validate(t, config)
	if got := tree(t, config); !reflect.DeepEqual(got, values["config"]) {
		t.Errorf("the configuration is %v, want %v", got, values["config"])
	}
	pod := d.pod()
	evaluator, err := standards.NewEvaluator(standards.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := security.LevelVersion{Level: security.LevelRestricted, Version: security.LatestVersion()}
	for _, r := range evaluator.EvaluatePod(restricted, &d.deployment.Spec.Template.ObjectMeta, &pod) {
		if !r.Allowed {
			t.Errorf("the pod is not restricted: %s: %s", r.ForbiddenReason, r.ForbiddenDetail)
		}
	}
	if token := values["serviceAccount"].(map[string]any)["automountServiceAccountToken"].(bool); pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken != token {
		t.Errorf("the pod has a token of Kubernetes: it should be %t", token)
	}
	for _, c := range append(pod.Containers, pod.InitContainers...) {
		if c.SecurityContext.ReadOnlyRootFilesystem == nil || !*c.SecurityContext.ReadOnlyRootFilesystem {
			t.Errorf("%s can write to its root", c.Name)
		}
		mounted(t, pod, c)
	}
	probed(t, pod.Containers[0])
	labels := d.deployment.Spec.Template.Labels
	for name, selector := range map[string]*meta.LabelSelector{"deployment": d.deployment.Spec.Selector, "budget": d.budget.Spec.Selector} {
		if want := map[string]string{"app.kubernetes.io/name": "quorate", "app.kubernetes.io/instance": "quorate"}; !maps.Equal(selector.MatchLabels, want) {
			t.Errorf("the %s selects %v", name, selector)
		}
	}
	if labels["app.kubernetes.io/instance"] != "quorate" || labels["app.kubernetes.io/name"] != "quorate" {
		t.Errorf("the pod has the labels %v", labels)
	}
}

// mounted checks that each mount has a volume, and that the configuration is a folder, which
// Kubernetes keeps up to date.
func mounted(t *testing.T, pod core.PodSpec, c core.Container) {
	t.Helper()
	volumes := map[string]core.Volume{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = v
	}
	for _, m := range c.VolumeMounts {
		if _, found := volumes[m.Name]; !found {
			t.Errorf("%s mounts %s, which is no volume", c.Name, m.Name)
		}
		if m.Name == "config" && (m.MountPath != "/etc/quorate" || m.SubPath != "") {
			t.Errorf("%s would not see a new configuration: %+v", c.Name, m)
		}
	}
}

func probed(t *testing.T, c core.Container) {
	t.Helper()
	ports := map[string]bool{}
	for _, p := range c.Ports {
		ports[p.Name] = true
	}
	for path, probe := range map[string]*core.Probe{"/healthz": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
		if probe == nil || probe.HTTPGet.Path != path || !ports[probe.HTTPGet.Port.StrVal] {
			t.Errorf("nobody asks %s: %+v", path, probe)
		}
	}
	if c.StartupProbe == nil || c.StartupProbe.HTTPGet.Path != "/healthz" {
		t.Errorf("the start is not asked for: %+v", c.StartupProbe)
	}
	if c.Env[1].Name != "QUORATE__REPLICA__ID" || c.Env[1].ValueFrom.FieldRef.FieldPath != "metadata.name" {
		t.Errorf("a replica has not the name of its pod: %+v", c.Env)
	}
}

func TestChartRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range refused {
		if _, err := tryRender(t, tree(t, text)); err == nil || !strings.Contains(err.Error(), "schema") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		`terminationGracePeriodSeconds: 59`:                                             "with a drain_timeout of 20s a replica needs up to 60 s to end",
		`{terminationGracePeriodSeconds: 60, config: {scheduler: {drain_timeout: 1m}}}`: "needs up to 100 s to end",
		`config: {postgres: {url: "postgres://a@b/c"}}`:                                 "set config.redis to null",
		`config: {redis: null}`:                                                         "config has no store",
		`config: {etcd: {endpoints: ["https://a:2379"]}}`:                               "config has redis and etcd",
		`config: {mysql: {url: "mysql://a@b"}}`:                                         "config has redis and mysql",
		`config: {redis: null, mysql: {url: "mysql://a@b"}}`:                            "build one of quorate-mysql from deploy/image",
		`config: {redis: null, etcd: {endpoints: ["https://a:2379"]}}`:                  "build one of quorate-etcd from deploy/image",
		`config: {redis: null, zookeeper: {servers: ["a:2181"]}}`:                       "build one of quorate-zookeeper from deploy/image",
		`config: {redis: null, sqlite: {path: a}}`:                                      "its file serves the processes of one host",
		`config: {http: {probes_listen: "127.0.0.1:8081"}}`:                             "the kubelet has to reach it",
		`config: {http: {probes_listen: "${env:LISTEN}"}}`:                              "the kubelet has to reach it",
		`config: {scheduler: {drain_timeout: "${env:DRAIN}"}}`:                          "write a duration such as 20s",
		`config: {http: {probes_listen: null}}`:                                         "the kubelet has to reach it",
		`config: {http: null}`:                                                          "the kubelet has to reach it",
	} {
		if _, err := tryRender(t, tree(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestPodsHaveTheTimeThatADrainTakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		`{}`: drainTimeout + stopMargin,
		`config: {scheduler: {drain_timeout: 1m30s}}`:                                    90*time.Second + stopMargin,
		`config: {scheduler: {drain_timeout: 2h}}`:                                       2*time.Hour + stopMargin,
		`{terminationGracePeriodSeconds: 100, config: {scheduler: {drain_timeout: 1m}}}`: 100 * time.Second,
	} {
		if got := time.Duration(*renders(t, tree(t, text)).pod().TerminationGracePeriodSeconds) * time.Second; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// Pods have an account that is there: one that the chart makes, or that somebody made before.
func TestPodsHaveAnAccount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`:                                "quorate",
		`{fullnameOverride: cron}`:          "cron",
		`{serviceAccount: {name: billing}}`: "billing",
		`{serviceAccount: {automountServiceAccountToken: true}}`: "quorate",
		`{serviceAccount: {create: false}}`:                      "default",
		`{serviceAccount: {create: false, name: billing}}`:       "billing",
	} {
		d := renders(t, tree(t, text))
		if got := d.pod().ServiceAccountName; got != want {
			t.Errorf("%s: the pods have the account %q, want %s", text, got, want)
		}
		if made := !strings.Contains(text, "create: false"); made != (d.account != nil) {
			t.Errorf("%s: the chart makes %+v", text, d.account)
		} else if made && (d.account.Name != want || *d.account.AutomountServiceAccountToken != *d.pod().AutomountServiceAccountToken) {
			t.Errorf("%s: the chart makes %+v, and the pods have the account %s", text, d.account, want)
		}
	}
}

// Pods are replaced when a setting changes that counts from the next start, and only then.
func TestPodsAreReplacedForSettings(t *testing.T) {
	t.Parallel()
	settings := func(text string) string {
		return renders(t, tree(t, text)).deployment.Spec.Template.Annotations["checksum/settings"]
	}
	before := settings(`{}`)
	for text, replaced := range map[string]bool{
		`config: {jobs: {a: {func: exec, schedule: "@daily", params: {command: [a]}}}}`: false,
		`config: {defaults: {timeout: 5m}}`:                                             false,
		`config: {calendars: {holidays: {dates: [2027-05-17]}}}`:                        false,
		`config: {scheduler: {timezone: Europe/Paris}}`:                                 false,
		`replicaCount: 7`: false,
		`config: {scheduler: {timezone: Europe/Paris, drain_timeout: 30s}}`: true,
		`config: {namespace: billing}`:                                      true,
		`config: {groups: {billing: {max_running: 1}}}`:                     true,
		`config: {log: {level: debug}}`:                                     true,
	} {
		if after := settings(text); (after != before) != replaced {
			t.Errorf("%s: pods are replaced: %v, want %v", text, after != before, replaced)
		}
	}
}

// The values that the page shows are good ones.
func TestChartOfThePage(t *testing.T) {
	t.Parallel()
	blocks := regexp.MustCompile("(?s)\n   ```yaml\n(.*?)\n   ```").FindAllStringSubmatch(read(t, root+"/docs/kubernetes.md"), -1)
	if len(blocks) != 2 {
		t.Fatalf("the page has %d blocks of values", len(blocks))
	}
	for _, block := range blocks {
		values := tree(t, block[1])
		valid(t, renders(t, values), merged(defaults(t), values))
	}
}

// The init container that migrates has the image, the configuration and the secrets of the replicas.
func TestChartMigrates(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`config: {redis: null, postgres: {url: "postgres://a:${env:PASSWORD}@b/c"}, defaults: {history: {max_bytes: 16777216}}}`,
		`{image: {repository: registry.example/quorate-mysql}, config: {redis: null, mysql: {url: "mysql://a:${env:PASSWORD}@b"}}}`,
	} {
		with := tree(t, `{migrate: true, secretFiles: [db], env: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}]}`)
		d := renders(t, merged(tree(t, text), with))
		validate(t, d.config.Data["config.yaml"])
		c, replica := d.pod().InitContainers[0], d.pod().Containers[0]
		if !slices.Equal(c.Args, []string{"store", "migrate"}) || c.Image != replica.Image || !reflect.DeepEqual(c.Env, replica.Env) || !reflect.DeepEqual(c.VolumeMounts, replica.VolumeMounts) {
			t.Errorf("the init container is %+v", c)
		}
	}
}

// What the chart gives Prometheus and Grafana is what docs/monitoring.md explains.
func TestChartMonitors(t *testing.T) {
	t.Parallel()
	d := renders(t, tree(t, `{prometheusRule: {enabled: true}, grafanaDashboard: {enabled: true}}`))
	var rules monitoring.PrometheusRuleSpec
	if err := yaml.UnmarshalStrict([]byte(read(t, chart+"/monitoring/alerts.yaml")), &rules); err != nil {
		t.Fatal(err)
	}
	if len(rules.Groups) == 0 || !reflect.DeepEqual(d.rule.Spec, rules) {
		t.Errorf("the rules are %+v", d.rule.Spec)
	}
	want := strings.TrimSpace(read(t, chart+"/monitoring/grafana.json")) // renders trims, too
	if d.dashboard.Data["quorate.json"] != want || d.dashboard.Name == d.config.Name {
		t.Errorf("the ConfigMap %s has not the dashboard:\n%s", d.dashboard.Name, d.dashboard.Data)
	}
}

// The other stores need an image of their program, or no nodes.
func TestChartOfOtherStores(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`config: {redis: null, etcd: {endpoints: ["https://a:2379"]}}`,
		`config: {redis: null, zookeeper: {servers: ["a:2181"]}}`,
		`config: {redis: null, mysql: {url: "mysql://a:${env:MYSQL_PWD}@b"}}`,
		`config: {redis: {nodes: null, url: "redis://a:6379"}}`,
	} {
		values := merged(tree(t, text), at("image.repository", "registry.example/quorate"))
		if got, want := tree(t, renders(t, values).config.Data["config.yaml"]), merged(defaults(t), values)["config"]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the configuration is %v, want %v", text, got, want)
		}
	}
}

// Nobody reaches a replica unless the values say who.
func TestNetworkPolicyIsClosed(t *testing.T) {
	t.Parallel()
	for text, rules := range map[string]int{
		`{}`: 0,
		`{networkPolicy: {dashboardFrom: [{podSelector: {}}]}}`:                                                                      0, // it listens on loopback
		`{networkPolicy: {metricsFrom: [{podSelector: {}}], dashboardFrom: [{podSelector: {}}]}, config: {http: {listen: ":8080"}}}`: 2,
	} {
		d := renders(t, tree(t, text))
		if len(d.network.Spec.Ingress) != rules || len(d.network.Spec.PolicyTypes) != 1 || len(d.network.Spec.PodSelector.MatchLabels) == 0 {
			t.Errorf("%s: %+v", text, d.network.Spec)
		}
		for _, rule := range d.network.Spec.Ingress {
			if len(rule.From) != 1 || len(rule.Ports) != 1 {
				t.Errorf("%s opens %+v", text, rule)
			}
		}
	}
}

func TestManifests(t *testing.T) {
	t.Parallel()
	d := renders(t, tree(t, read(t, manifests+"/values.yaml")))
	generated(t, manifests+"/quorate.yaml", "make manifests", header(t)+d.text)
}
