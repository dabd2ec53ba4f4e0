//go:build helm

package deploy

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// A deployment is what the chart makes of values.
type deployment struct {
	text string // in the order of templates, which are not empty

	deployment apps.Deployment
	config     core.ConfigMap
	budget     policy.PodDisruptionBudget
	account    *core.ServiceAccount
	service    *core.Service
	network    *networking.NetworkPolicy
	monitor    *monitoring.PodMonitor
	rule       *monitoring.PrometheusRule
	dashboard  *core.ConfigMap
}

func (d deployment) pod() core.PodSpec { return d.deployment.Spec.Template.Spec }

// templates of the chart, in the order of the manifests.
var templates = []string{"serviceaccount", "configmap", "deployment", "poddisruptionbudget", "networkpolicy", "service", "podmonitor", "prometheusrule", "grafanadashboard"}

// tryRender does what `helm template` does with values.
func tryRender(t *testing.T, values map[string]any) (map[string]string, error) {
	t.Helper()
	loaded, err := loader.LoadDir(chart)
	if err != nil {
		t.Fatal(err)
	}
	release := common.ReleaseOptions{Name: "quorate", Namespace: "default", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(loaded, values, release, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(loaded, all)
}

// renders decodes what the chart makes of values. Keys that Kubernetes does not know, and
// values of other types, fail the test.
func renders(t *testing.T, values map[string]any) deployment {
	t.Helper()
	files, err := tryRender(t, values)
	if err != nil {
		t.Fatal(err)
	}
	var d deployment
	for _, name := range templates {
		text := strings.TrimSpace(files["quorate/templates/"+name+".yaml"])
		delete(files, "quorate/templates/"+name+".yaml")
		if text == "" {
			continue
		}
		d.text += "---\n" + text + "\n"
		if err := d.decode(name, text); err != nil {
			t.Errorf("%s: %v in\n%s", name, err, text)
		}
	}
	for path, text := range files {
		if filepath.Base(path) != "NOTES.txt" && strings.TrimSpace(text) != "" {
			t.Errorf("nobody reads %s: %s", path, text)
		}
	}
	return d
}

// decode reads the object of a template strictly.
func (d *deployment) decode(template, text string) error {
	var about struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal([]byte(text), &about); err != nil {
		return err
	}
	var object any
	switch template + ": " + about.APIVersion + " " + about.Kind {
	case "deployment: apps/v1 Deployment":
		object = &d.deployment
	case "configmap: v1 ConfigMap":
		object = &d.config
	case "poddisruptionbudget: policy/v1 PodDisruptionBudget":
		object = &d.budget
	case "serviceaccount: v1 ServiceAccount":
		d.account = new(core.ServiceAccount)
		object = d.account
	case "service: v1 Service":
		d.service = new(core.Service)
		object = d.service
	case "networkpolicy: networking.k8s.io/v1 NetworkPolicy":
		d.network = new(networking.NetworkPolicy)
		object = d.network
	case "podmonitor: monitoring.coreos.com/v1 PodMonitor":
		d.monitor = new(monitoring.PodMonitor)
		object = d.monitor
	case "prometheusrule: monitoring.coreos.com/v1 PrometheusRule":
		d.rule = new(monitoring.PrometheusRule)
		object = d.rule
	case "grafanadashboard: v1 ConfigMap":
		d.dashboard = new(core.ConfigMap)
		object = d.dashboard
	default:
		return fmt.Errorf("%+v is no object that this test knows", about)
	}
	return yaml.UnmarshalStrict([]byte(text), object)
}
