package web

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// TestColumns checks that an environment is to the right of those it comes after, in any order, and that cycles are drawn.
func TestColumns(t *testing.T) {
	for _, tc := range []struct{ name, environments, want string }{
		{"a chain", "prod<stage stage<dev dev", "dev | stage | prod"},
		{"a diamond", "prod<eu,us us<dev eu<dev dev", "dev | us eu | prod"},
		{"two beginnings", "a b c<a,b", "a b | c"},
		{"a way that skips", "dev stage<dev prod<dev,stage", "dev | stage | prod"},
		{"a circle", "a<b b<a", "a b"},
		{"after nothing that is known", "a<gone", "a"},
		{"none", "", ""},
	} {
		var all []query.Environment
		for _, one := range strings.Fields(tc.environments) {
			name, after, _ := strings.Cut(one, "<")
			e := query.Environment{Name: name}
			if after != "" {
				e.After = strings.Split(after, ",")
			}
			all = append(all, e)
		}
		var columns []string
		for _, column := range columnsOf(all) {
			var names []string
			for _, e := range column {
				names = append(names, e.Name)
			}
			columns = append(columns, strings.Join(names, " "))
		}
		if got := strings.Join(columns, " | "); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestNodeOfMany checks that the number of clusters does not overlap the commit.
func TestNodeOfMany(t *testing.T) {
	for _, tc := range []struct {
		commit        string
		reached, want int
		line          string
	}{
		{"1111111", 3, 3, "1111111 3 of 3"},
		{"1111111", 2000, 2000, "1111111 2000 of 2000"},
		{"1111111", 9999, 10000, "1111111 9999/10000"},
		{"", 3, 3, "no commit yet 3 of 3"},
		{"", 2000, 2000, "none yet 2000/2000"},
	} {
		e := query.Environment{Name: "prod", Commit: tc.commit, Gate: &query.Gate{Counts: comply.Counts{Reached: tc.reached, Counted: tc.want}}}
		n := nodeOf(e)
		if got := n.Commit + " " + n.Gate; got != tc.line || !strings.Contains(n.Label, got) {
			t.Errorf("got %q, read out as %q, want %q", got, n.Label, tc.line)
		}
	}
}
