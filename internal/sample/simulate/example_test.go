package simulate_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/sample/simulate"
)

// printed is a server that prints what clusters report.
type printed struct{}

func (printed) Send(_ context.Context, b hub.ReportBatch) (hub.ReportReceipt, error) {
	for _, r := range b.Reports {
		fmt.Printf("%s: %s %s is %s %q\n", b.Sent.Format(time.TimeOnly), b.Cluster, r.Name, r.State, r.Message)
	}
	return hub.ReportReceipt{}, nil
}

// A cluster follows the folder of its type, until it is set to fail.
func Example() {
	dir, err := os.MkdirTemp("", "simulation")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is in a temporary folder
	ctx, now := context.Background(), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	gitOps := filepath.Join(dir, "gitops")
	err = git.Create(ctx, gitOps, git.CreateRequest{
		Bare: true, Author: git.Person{Name: "Ann", Email: "ann@example.com"}, When: now,
		Branches: []git.NewBranch{{Name: "dev", Message: "schedule the shop", Files: map[string][]byte{
			"large/shop/namespace.yaml": []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"),
		}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	client := &git.Client{CacheDir: dir}
	defer client.Close() //nolint:errcheck // the example ends
	s := simulate.New(simulate.Config{
		Sources: &simulate.Sources{Client: client}, Delay: simulate.Delay{Least: 3 * time.Second, Most: 3 * time.Second},
	})
	err = s.Add(simulate.Cluster{Name: "large-01", Memberships: []simulate.Membership{
		{Environment: "dev", ClusterType: "large", GitOps: hub.Repository{Repo: gitOps}},
	}}, printed{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s.Step(ctx, now)
	s.Step(ctx, now.Add(3*time.Second))
	if err := s.Set("large-01", simulate.Behaviour{Mode: simulate.Failing}); err != nil {
		fmt.Println(err)
	}
	s.Step(ctx, now.Add(10*time.Second))
	s.Step(ctx, now.Add(20*time.Second))
	// Output:
	// 12:00:00: large-01 platform-dev-large is progressing ""
	// 12:00:03: large-01 platform-dev-large is ready ""
	// 12:00:20: large-01 platform-dev-large is failed "Namespace/shop dry-run failed (Forbidden): admission webhook \"simulated.kalypso.io\" denied the request: the simulated cluster is set to fail"
}
