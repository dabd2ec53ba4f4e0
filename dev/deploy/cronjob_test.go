package deploy

import (
	"os"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

// TestCronJobOfThePage decodes the CronJob that docs/coming-from shows strictly.
func TestCronJobOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/coming-from/kubernetes-cronjob.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "\n```yaml\napiVersion: ")
	block, _, _ = strings.Cut(block, "\n```\n")
	var job batch.CronJob
	if err := yaml.UnmarshalStrict([]byte("apiVersion: "+block), &job); err != nil {
		t.Fatal(err)
	}
	if job.Kind != "CronJob" || job.Spec.Schedule == "" || len(job.Spec.JobTemplate.Spec.Template.Spec.Containers) != 1 {
		t.Errorf("%+v", job)
	}
}
