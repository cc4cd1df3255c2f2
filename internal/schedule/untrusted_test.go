package schedule

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

const applicationFiles = "hello-world-app/main/workload/"

// The documents are of every kind with which a platform team says what happens.
const (
	environmentDocuments = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata: {name: flux}
spec: {type: reconciler, manifests: ["{apiVersion: v1, kind: Secret, metadata: {name: taken}}"]}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata: {name: everywhere}
spec: {deploymentTargetSelector: {labelSelector: {}}, clusterTypeSelector: {labelSelector: {}}}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata: {name: mine}
spec: {reconciler: flux, namespaceService: default}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: zz, labels: {platform-config: "true"}}
data: {DATABASE_URL: taken}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: ConfigSchema
metadata: {name: refuses}
spec: {onMissing: hold, schema: {type: object, required: [NOBODY_HAS_THIS]}}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: CheckPolicy
metadata: {name: lenient}
spec:
  levels: {secret: "off", schema: "off"}
  scans: [{name: run, what: images, command: {args: [/bin/sh, -c, taken]}}]
`
	otherDocuments = `---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Environment
metadata: {name: dev}
spec: {controlPlane: {repo: ../taken, branch: dev, path: .}}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: GitOpsRepo
metadata: {name: dev}
spec: {repo: ../taken, branch: dev, path: ., autoMerge: true, deletionBudget: 100%}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: BaseRepo
metadata: {name: main}
spec: {repo: ../taken, branch: main, path: ., commit: 0123456789012345678901234567890123456789}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: ConfigRepo
metadata: {name: more}
spec: {repo: ../taken, branch: dev, path: .}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: WorkloadRegistration
metadata: {name: another}
spec: {workload: {repo: ../platform-services, branch: main, path: nginx}, workspace: platform}
`
)

// wanted are the files of an environment, and the rules that changes of it are checked by.
func (s *shelf) wanted(t *testing.T) (files map[string]string, rules check.Policy, gitops *fleet.GitOpsRepo) {
	t.Helper()
	loaded := s.load(t, Request{Environment: "dev"})
	files = map[string]string{}
	for _, change := range bundle.Build(loaded.Snapshot, nil, nil).Changes() {
		files[change.Path] = string(change.Content)
	}
	rules, _ = check.PolicyOf(loaded.Snapshot)
	return files, rules, loaded.Snapshot.GitOps
}

// What an application repository says as if it were the platform's changes nothing.
func TestApplicationsSayNothingForThePlatform(t *testing.T) {
	files, rules, gitops := helloFleet(t, nil).wanted(t)
	got, gotRules, gotGitOps := helloFleet(t, map[string]string{applicationFiles + "platform.yaml": environmentDocuments + otherDocuments}).wanted(t)
	if diff := cmp.Diff(files, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(rules, gotRules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(gitops, gotGitOps); diff != "" {
		t.Errorf("where it is published (-want +got):\n%s", diff)
	}
	// They count where the platform team writes them, or this could not fail.
	ours, ourRules, _ := helloFleet(t, map[string]string{"control-plane/dev/platform.yaml": environmentDocuments}).wanted(t)
	if cmp.Equal(files, ours) || cmp.Equal(rules, ourRules) {
		t.Error("the documents would change nothing anywhere")
	}
}

// Labels and the manifests map reach templates as text, which is never executed.
func TestWhatApplicationsWriteIsNeverExecuted(t *testing.T) {
	s := helloFleet(t, nil)
	workload := s.files[applicationFiles+"workload.yaml"]
	const evil = `{{ printf "ta%s" "ken" }}{{ .ConfigData }}`
	changed := strings.Replace(workload, "path: ./performance-test", "path: '"+evil+"'", 1)
	changed = strings.Replace(changed, "type: application", "type: application\n    note: '"+evil+"'", 1)
	if changed == workload {
		t.Fatal("the workload of the example looks otherwise")
	}
	s = helloFleet(t, map[string]string{
		applicationFiles + "workload.yaml": changed,
		"control-plane/main/templates/default.yaml": `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata: {name: default}
spec:
  type: namespace
  manifests:
    - {apiVersion: v1, kind: Namespace, metadata: {name: "{{ .Namespace }}", annotations: {note: '{{ default "none" .Labels.note | quote }}', path: '{{ default "none" .Manifests.path | quote }}'}}}
`,
	})
	files, _, _ := s.wanted(t)
	seen := map[string]bool{}
	for name, content := range files {
		if strings.Contains(content, "taken") || strings.Contains(content, "map[") {
			t.Errorf("%s was executed:\n%s", name, content)
		}
		for line := range strings.Lines(content) {
			if key, value, _ := strings.Cut(strings.TrimSpace(line), ":"); strings.Contains(value, "{{ printf") {
				seen[key] = true
			}
		}
	}
	if !seen["note"] || !seen["path"] {
		t.Errorf("seen in %v, want the label and the manifests map as they were written", seen)
	}
}
