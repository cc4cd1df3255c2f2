package main

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kalypso-io/kalypso/internal/forge/gitea/giteatest"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// serveGitea is the script command that starts one:
//
//	gitea DIR    serves the bare repositories DIR/<owner>/<name>.git at $GITEA, for the token $GITEA_BOT
func serveGitea(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: gitea DIR")
		}
		g := fleettest.NewGitea(t, ts.MkAbs(args[0]))
		ts.Setenv("GITEA", g.URL)
		ts.Setenv("GITEA_HOST", strings.TrimPrefix(g.URL, "http://"))
		ts.Setenv("GITEA_BOT", giteatest.Token)
		ts.Setenv("GITEA_READER", giteatest.Weak)
	}
}
