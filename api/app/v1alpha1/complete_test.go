package v1alpha1_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/api/app/v1alpha1"
	scheduler "github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

func ExampleComplete() {
	workload := &scheduler.Workload{}
	workload.Name = "hello-world-app"
	workload.Spec.DeploymentTargets = []scheduler.WorkloadTarget{
		{Name: "uat-test", DeploymentTargetSpec: scheduler.DeploymentTargetSpec{Environment: "stage"}},
		{Name: "functional-test", DeploymentTargetSpec: scheduler.DeploymentTargetSpec{Environment: "dev"}},
	}
	source := "https://git.example.com/kaizen/hello-src"

	d := v1alpha1.Complete(nil, workload, source)
	fmt.Println("chart:", d.Spec.Chart.Path)
	for _, e := range d.Spec.Environments {
		fmt.Println(e.Name, e.Promotion.After, e.AutoMerge)
	}
	for _, place := range d.ConfigPlaces("dev", source) {
		fmt.Println("configuration:", place.Repo, place.Branch)
	}
	fmt.Println("manifests:", d.GitOpsPlace("dev").Repo, d.GitOpsPlace("dev").Branch)
	// Output:
	// chart: helm
	// dev [] true
	// stage [dev] false
	// configuration: https://git.example.com/kaizen/hello-configs dev
	// configuration: https://git.example.com/kaizen/hello-src dev-configs
	// manifests: https://git.example.com/kaizen/hello-gitops dev
}

// TestCompleteKeepsWhatIsWritten checks that fields that the team set
// are kept, and that the document is not modified.
func TestCompleteKeepsWhatIsWritten(t *testing.T) {
	written := &v1alpha1.Delivery{}
	if err := yaml.UnmarshalStrict([]byte(`
metadata: {name: other}
spec:
  workload: hello
  kustomization: deploy/{target}
  config: {repo: https://git.example.com/settings, path: hello}
  gitops: {repo: https://git.example.com/out, branch: "env/{environment}"}
  environments: [{name: qa}, {name: prod, promotion: {approval: pullRequest}}]
`), written); err != nil {
		t.Fatal(err)
	}
	before := written.DeepCopy()
	workload := &scheduler.Workload{}
	workload.Name = "hello"
	d := v1alpha1.Complete(written, workload, "https://git.example.com/hello.git")
	if diff := cmp.Diff(before, written); diff != "" {
		t.Errorf("the document was changed: %s", diff)
	}
	if d.Spec.Chart != nil || d.Spec.Kustomization != "deploy/{target}" {
		t.Errorf("got chart %v and kustomization %q", d.Spec.Chart, d.Spec.Kustomization)
	}
	places := d.ConfigPlaces("qa", "https://git.example.com/hello.git")
	if want := []scheduler.Repository{{Repo: "https://git.example.com/settings", Branch: "qa", Path: "hello"}}; !cmp.Equal(places, want) {
		t.Errorf("got %v, want %v", places, want)
	}
	if got := d.GitOpsPlace("qa").Branch; got != "env/qa" {
		t.Errorf("got branch %q", got)
	}
	if e, _ := d.Environment("prod"); e.Promotion.After != nil || e.Promotion.Approval != "pullRequest" {
		t.Errorf("written promotion rules were changed: %+v", e.Promotion)
	}
}

// TestCompleteTakesTheTargetsRepository checks that the repository of the workload's targets is the default.
func TestCompleteTakesTheTargetsRepository(t *testing.T) {
	for _, tc := range []struct {
		name, source, want string
		repos              []string
	}{
		{"one", "https://h/a-src", "https://h/out", []string{"https://h/out", "https://h/out"}},
		{"several", "https://h/a-src.git", "https://h/a-gitops.git", []string{"https://h/out", "https://h/other"}},
		{"none", "git@h:team/a/", "git@h:team/a-gitops", nil},
		{"name is only an ending", "https://h/-src", "https://h/-src-gitops", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &scheduler.Workload{}
			for _, repo := range tc.repos {
				w.Spec.DeploymentTargets = append(w.Spec.DeploymentTargets, scheduler.WorkloadTarget{
					DeploymentTargetSpec: scheduler.DeploymentTargetSpec{Environment: "dev", Manifests: map[string]string{"repo": repo}},
				})
			}
			if got := v1alpha1.Complete(nil, w, tc.source).Spec.GitOps.Repo; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestListedService(t *testing.T) {
	var listed v1alpha1.ListedService
	if err := yaml.UnmarshalStrict([]byte("name: nginx\nhelm: {repository: https://charts.example.com, chart: ingress, version: 1.2.3}"), &listed); err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.Service{Name: "nginx", Chart: v1alpha1.Chart{Repository: "https://charts.example.com", Name: "ingress", Version: "1.2.3"}}
	if diff := cmp.Diff(want, listed.Service()); diff != "" {
		t.Error(diff)
	}
}
