package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// BenchmarkArgoCD measures how long Argo CD takes for 100 Applications on the spoke, each with a namespace and a Deployment, and
// the memory of its processes then.
func BenchmarkArgoCD(b *testing.B) {
	const applications = 100
	ctx := b.Context()
	check := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	a, err := startArgoCD()
	check(err)
	name := "crowd-" + strings.ToLower(filepath.Base(b.TempDir()))
	check(stack.Gitea.NewOrganization(ctx, name))
	r, err := stack.Gitea.NewRepository(ctx, name, "gitops")
	check(err)
	account, err := stack.Gitea.NewAccount(ctx, name+"-argocd", "read:repository")
	check(err)
	check(r.Grant(ctx, account, "read"))
	check(a.AddRepository(ctx, name, r, account))
	checkout, err := harness.NewCheckout(ctx, filepath.Join(b.TempDir(), "checkout"), r, dev, stack.Gitea.Admin)
	check(err)
	folder := func(i int) string { return fmt.Sprintf("crowd-%03d", i) }
	for i := range applications {
		namespace := "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + folder(i) + "}\n---"
		check(checkout.Write(folder(i)+"/all.yaml", namespace+deployment(folder(i), "v1", 600)))
	}
	_, err = checkout.Push(ctx, "a crowd")
	check(err)
	for b.Loop() {
		for i := range applications {
			check(a.Follow(ctx, harness.Follow{Name: folder(i), URL: r.URL(), Branch: dev, Path: folder(i)}, spokeDestination, nil))
		}
		check(harness.Until(ctx, 2*arrival, func(ctx context.Context) error {
			all, err := a.Hub.List(ctx, harness.Applications)
			healthy := 0
			for _, o := range all {
				if status, _, _ := unstructured.NestedString(o.Object, "status", "health", "status"); status == "Healthy" && field(&o, "status", "sync", "status") == "Synced" {
					healthy++
				}
			}
			if healthy < applications {
				err = errors.Join(err, fmt.Errorf("%d of %d are healthy", healthy, applications))
			}
			return err
		}))
	}
	for unit, p := range map[string]*harness.Process{"controller-MiB": a.Controller, "repo-server-MiB": a.RepoServer} {
		resident, err := p.Resident()
		check(err)
		b.ReportMetric(float64(resident>>20), unit)
	}
}
