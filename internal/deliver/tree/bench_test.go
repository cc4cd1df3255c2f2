package tree_test

import (
	"fmt"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"
)

// fleet100 is the result of rendering 100 targets with twenty objects each.
func fleet100(replicas int) *chart.Result {
	result := &chart.Result{}
	for i := range 100 {
		result.Targets = append(result.Targets, rendered(fmt.Sprintf("target-%03d", i), replicas))
	}
	return result
}

func rendered(name string, replicas int) chart.Rendered {
	m := &chart.Manifests{Images: []string{"shop:latest"}}
	for i := range 20 {
		m.Content = fmt.Appendf(m.Content, deployment, i, i, replicas)
		m.Objects = append(m.Objects, chart.Object{APIVersion: "apps/v1", Kind: "Deployment", Name: fmt.Sprintf("shop-%02d", i)})
	}
	sum := fmt.Sprintf("sha256:%064d", replicas)
	return chart.Rendered{Name: name, Digest: sum, Manifests: m, Values: fmt.Appendf(nil, "replicas: %d\n", replicas)}
}

const deployment = `---
# Source: shop/templates/%02d.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop-%02d, labels: {app: shop}}
spec:
  replicas: %d
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
        - name: shop
          image: shop:latest
          env:
            - {name: A, value: "1"}
            - {name: B, value: "2"}
`

func build(b *testing.B, r *chart.Result, published *tree.Published) *tree.Tree {
	b.Helper()
	var targets []tree.Target
	for _, rendered := range r.Targets {
		targets = append(targets, tree.Target{Name: rendered.Name, Rendered: rendered})
	}
	t := tree.Build(wanted(targets...), published)
	if len(t.Problems) > 0 {
		b.Fatal(messages(t.Problems))
	}
	return t
}

// BenchmarkRound compares 100 targets with 20 manifests with a branch that differs.
func BenchmarkRound(b *testing.B) {
	branch := branch{}
	branch.apply(build(b, fleet100(2), nil).Changes())
	changed := fleet100(3)
	for b.Loop() {
		if got := len(build(b, changed, branch.published(b)).Changes()); got != 201 {
			b.Fatalf("got %d changes, want 201", got)
		}
	}
}

// BenchmarkRoundOfOneTarget does the same if one target changed.
func BenchmarkRoundOfOneTarget(b *testing.B) {
	result := fleet100(2)
	branch := branch{}
	branch.apply(build(b, result, nil).Changes())
	result.Targets[42] = rendered("target-042", 3)
	for b.Loop() {
		if got := len(build(b, result, branch.published(b)).Changes()); got != 3 {
			b.Fatalf("got %d changes, want 3", got)
		}
	}
}
