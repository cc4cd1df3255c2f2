package local

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// BenchmarkChanges measures the queries of a round, in a repository with a thousand pull requests.
func BenchmarkChanges(b *testing.B) {
	f := newForge(b, Options{})
	r := newRepository(b, f)
	head := commit(b, r, "feature", nil)
	e := must(r.enter(b.Context(), Read))
	for i := range 1000 {
		must(f.db.Exec(queries.Get("insertPullRequest"), e.id, i+1, "Title", strings.Repeat("body ", 200), false, "ada", 1, fmt.Sprint("feature-", i), head, "main"))
		if i%50 > 0 {
			must(f.db.Exec(`UPDATE pull_request SET state = 'merged' WHERE repository = ? AND number = ?`, e.id, i+1))
		}
	}
	b.Run("list of 1000", func(b *testing.B) {
		for b.Loop() {
			if all := must(r.FindPullRequests(b.Context(), forge.PullRequestFilter{})); len(all) != 1000 {
				b.Fatal(len(all))
			}
		}
	})
	b.Run("the living one", func(b *testing.B) {
		for b.Loop() {
			must(r.FindPullRequests(b.Context(), forge.PullRequestFilter{State: forge.Open, Head: "kalypso/dev", Base: "main"}))
		}
	})
	b.Run("one, whether it merges", func(b *testing.B) {
		for b.Loop() {
			must(r.PullRequest(b.Context(), 1))
		}
	})
}
