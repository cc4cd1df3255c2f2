package ingest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// A cluster joins with a token that somebody gave it, gets a credential of its own, and reports about itself.
// Its clock is an hour ahead, which changes nothing.
func Example() {
	ctx, now := context.Background(), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	folder, err := os.MkdirTemp("", "reporting")
	check(err)
	defer os.RemoveAll(folder) //nolint:errcheck // a folder of the example
	memory, err := sqlite.Open(ctx, filepath.Join(folder, "ledger.db"))
	check(err)
	defer memory.Close() //nolint:errcheck // out of scope of the example

	// Programs make random ones.
	registrar := &ingest.Registrar{Ledger: memory, NewSecret: func(role string) secret.Value { return secret.New(role + "-secret") }}
	_, token, err := registrar.CreateJoinToken(ctx, ingest.JoinTokenRequest{
		Scope:   ingest.JoinScope{Memberships: []ledger.Membership{{Environment: "dev", ClusterType: "*"}}, Uses: 1},
		Expires: now.Add(time.Hour),
	}, "ann", now)
	check(err)
	large07 := ingest.ClusterRequest{Name: "large-07", Memberships: []ledger.Membership{{Environment: "dev", ClusterType: "large"}}}
	credential, _, err := registrar.Join(ctx, token.ID, large07, now)
	check(err)
	_, _, err = registrar.Join(ctx, token.ID, large07, now)
	fmt.Println("again:", err)

	reporter, err := memory.ClusterByCredential(ctx, ingest.Hash(credential))
	check(err)
	batch := hub.NewReportBatch("", now.Add(time.Hour), []hub.Report{{
		Kind: "Kustomization", Namespace: "flux-system", Name: "platform",
		Repository: "git@github.com:acme/platform-gitops.git", Ref: "dev", Path: "./large",
		Revision: "dev@sha1:" + strings.Repeat("c0ffee1234", 4), State: hub.StateReady, Observed: now.Add(time.Hour - time.Second),
	}})
	intake := &ingest.Intake{Ledger: memory}
	_, err = intake.Take(ctx, reporter.Name, &batch, now)
	check(err)

	page, err := memory.States(ctx, ledger.StateQuery{Cluster: "large-07"})
	check(err)
	for _, s := range page.States {
		fmt.Println(s.Reconciler)
		fmt.Println(s.State, "since", s.Since.Format(time.TimeOnly))
		fmt.Println(s.Source.Repository, s.Source.Ref, s.Source.Path)
	}
	// Output:
	// again: the join token has no uses left: ask for another one
	// Kustomization flux-system/platform on large-07
	// ready since 11:59:59
	// https://github.com/acme/platform-gitops dev large
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
