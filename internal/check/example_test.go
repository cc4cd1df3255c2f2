package check_test

import (
	"fmt"
	"maps"

	"github.com/kalypso-io/kalypso/internal/check"
)

func Example() {
	checker, err := check.New(check.Policy{
		Environment: "prod",
		Levels:      map[string]check.Level{check.RuleLatestTag: check.Refuse},
		Rules:       []check.Rule{{Name: "owner", Expression: "has(object.metadata.labels) && 'owner' in object.metadata.labels", Message: "it has no owner"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	findings := checker.Check(maps.All(map[string][]byte{"web.yaml": []byte(`apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  securityContext: {runAsNonRoot: true}
  containers:
  - name: web
    image: web:latest
    resources: {limits: {memory: 64Mi, cpu: 1}}
    securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
`)}))
	for _, f := range findings {
		fmt.Println(f.Level, f)
	}
	fmt.Println("worst:", check.Worst(findings))
	// Output:
	// warn web.yaml:1: Pod web: it has no owner (owner)
	// refuse web.yaml:8: Pod web: spec.containers[0].image: "web:latest" can become another image at any time (latest-tag)
	// worst: refuse
}
