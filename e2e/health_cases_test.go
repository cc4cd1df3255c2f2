package e2e

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent/reconciler"
)

// otherwise are kinds whose objects have the condition Ready although they are suspended, or do not work by another field:
// only a program for the kind can know that.
var otherwise = []string{
	"cluster.x-k8s.io/Cluster", "karpenter.sh/NodeClaim", "keda.sh/ScaledJob", "keda.sh/ScaledObject", "kubevirt.io/VirtualMachine",
	"kubevirt.io/VirtualMachineInstance", "openfaas.com/Function", "postgresql.cnpg.io/Cluster", "promoter.argoproj.io/GitCommitStatus",
	"promoter.argoproj.io/PromotionStrategy", "promoter.argoproj.io/TimedCommitStatus", "promoter.argoproj.io/WebRequestCommitStatus",
	"serving.kserve.io/InferenceService",
}

// asKstatus are kinds whose objects kstatus, which decides for the agent, calls current whatever Argo CD looks at: the last run of a
// CronJob, the pods that a PodDisruptionBudget counts, a schema of a CustomResourceDefinition that the API server accepts.
var asKstatus = []string{"apiextensions.k8s.io/CustomResourceDefinition", "batch/CronJob", "policy/PodDisruptionBudget"}

// TestHealthOfPublishedCases compares the agent's rules for objects of any kind with the health that Argo CD gives hundreds of
// published objects. The agent may know less, and says so; it never calls healthy what is not.
func TestHealthOfPublishedCases(t *testing.T) {
	t.Parallel()
	root := stack.Programs.ArgoCDHealthCases
	agreed, stricter, unknown := map[hub.Health]int{}, map[string]int{}, 0
	check := func(kind, file string, want hub.Health) {
		text, err := os.ReadFile(file)
		must(t, err)
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &u.Object); err != nil || u.GetKind() == "" {
			return // a case that is not one object
		}
		reports := reconciler.Reports(u, func(string, string, string) *unstructured.Unstructured { return nil }, nil, time.Now())
		if len(reports) == 0 {
			return
		}
		switch got := reports[0].Health; {
		case got == want:
			agreed[want]++
		case got == "":
			unknown++
		case got == hub.HealthHealthy && want == hub.HealthDegraded && slices.Contains(asKstatus, kind):
			stricter[kind]++
		case got == hub.HealthHealthy && !slices.Contains(otherwise, kind), got == hub.HealthDegraded && want == hub.HealthHealthy:
			t.Errorf("%s: the agent says %s, want %q", strings.TrimPrefix(file, root), got, want)
		}
	}
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "health_test.yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		var cases struct {
			Tests []struct {
				InputPath    string
				HealthStatus struct{ Status string }
			}
		}
		if err = errors.Join(err, yaml.Unmarshal(text, &cases)); err != nil {
			return err
		}
		folder := filepath.Dir(path)
		kind, err := filepath.Rel(root, folder)
		for _, c := range cases.Tests {
			check(filepath.ToSlash(kind), filepath.Join(folder, c.InputPath), hub.ParseHealth(c.HealthStatus.Status))
		}
		return err
	}))
	t.Logf("agreed: %v; the agent does not know: %d", agreed, unknown)
	if len(stricter) != len(asKstatus) {
		t.Errorf("Argo CD is stricter than kstatus for %v, want %v", stricter, asKstatus)
	}
	if agreed[hub.HealthHealthy] < 90 || agreed[hub.HealthProgressing] < 80 {
		t.Errorf("agreed: %v", agreed)
	}
}
