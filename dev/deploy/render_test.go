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
	service    *core.Service
	network    *networking.NetworkPolicy
	monitor    *monitoring.PodMonitor
}

func (d deployment) pod() core.PodSpec { return d.deployment.Spec.Template.Spec }

// templates of the chart, in the order of the manifests.
var templates = []string{"configmap", "deployment", "poddisruptionbudget", "networkpolicy", "service", "podmonitor"}

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
		if err := d.decode(text); err != nil {
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

// decode reads an object strictly.
func (d *deployment) decode(text string) error {
	var about struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal([]byte(text), &about); err != nil {
		return err
	}
	var object any
	switch about.APIVersion + " " + about.Kind {
	case "apps/v1 Deployment":
		object = &d.deployment
	case "v1 ConfigMap":
		object = &d.config
	case "policy/v1 PodDisruptionBudget":
		object = &d.budget
	case "v1 Service":
		d.service = new(core.Service)
		object = d.service
	case "networking.k8s.io/v1 NetworkPolicy":
		d.network = new(networking.NetworkPolicy)
		object = d.network
	case "monitoring.coreos.com/v1 PodMonitor":
		d.monitor = new(monitoring.PodMonitor)
		object = d.monitor
	default:
		return fmt.Errorf("%+v is no object that this test knows", about)
	}
	return yaml.UnmarshalStrict([]byte(text), object)
}
