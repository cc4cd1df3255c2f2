package record_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
)

// What a GitOps branch wants comes into the ledger, where anybody can ask for it.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "recording")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "ledger.db"))
	if err != nil {
		panic(err)
	}
	defer store.Close()

	// Out of the example's scope: a repository as scheduling writes it.
	gitops := filepath.Join(dir, "gitops")
	err = git.Create(ctx, gitops, git.CreateRequest{Author: git.Person{Name: "Kalypso", Email: "kalypso@example.com"}, When: noon, Branches: []git.NewBranch{{
		Name: "dev", Message: "Deploy the shop", Files: map[string][]byte{".kalypso/inventory/large.json": []byte(inventory("dev", "large", "shop-east"))},
	}}})
	if err != nil {
		panic(err)
	}

	recorder := &record.Recorder{Repositories: &repositories{client: &git.Client{}}, Ledger: store, Now: func() time.Time { return noon }}
	branch := record.Branch{Repository: gitops, Branch: "dev", Kind: ledger.BranchPlatform, Environment: "dev"}
	for range 2 {
		outcome, err := recorder.Branch(ctx, branch)
		if err != nil {
			panic(err)
		}
		fmt.Println("new commits:", len(outcome.Recorded))
	}
	wanted, err := store.Wanted(ctx, ledger.WantedQuery{Environment: "dev"})
	if err != nil {
		panic(err)
	}
	for _, a := range wanted.Assignments {
		fmt.Println(a.Environment, "wants", a.Target, "on", a.ClusterType)
	}
	// Output:
	// new commits: 1
	// new commits: 0
	// dev wants shop-east on large
}
