package access_test

import (
	"errors"
	"testing"

	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// TestRoles is the whole table: a row has what a role may do, a column what is needed.
func TestRoles(t *testing.T) {
	rows := map[access.Role]string{
		"":                "......",
		"root":            "......",
		access.Reader:     "r.....",
		access.Operator:   "ro....",
		access.BreakGlass: "rob...",
		access.Admin:      "roba..",
		access.Cluster:    "....c.",
		access.Join:       ".....j",
	}
	for role, row := range rows {
		for i, needed := range access.Roles() {
			want := row[i] != '.'
			if got := role.Includes(needed); got != want {
				t.Errorf("%q may do what %q is needed for: got %v", role, needed, got)
			}
			err := access.Identity{Name: "ada", Role: role, Source: access.ByToken}.May(needed)
			if (err == nil) != want || err != nil && !errors.Is(err, access.ErrForbidden) {
				t.Errorf("%q, %q needed: %v", role, needed, err)
			}
		}
		if role.Includes("") {
			t.Errorf("%q may do what nothing is known about", role)
		}
	}
}

func TestNobodyIsAskedWhoTheyAre(t *testing.T) {
	for _, anonymous := range []access.Identity{{}, {Source: access.Anonymous}, {Source: access.Anonymous, Role: access.Reader}} {
		if err := anonymous.May(access.Admin); !errors.Is(err, access.ErrUnauthenticated) {
			t.Errorf("%+v: got %v", anonymous, err)
		}
	}
}

func TestNamesOfIdentitiesDiffer(t *testing.T) {
	for want, who := range map[string]access.Identity{
		"anonymous":              {},
		"ada@example.com (oidc)": {Name: "ada@example.com", Source: access.BySignOn},
		"ci (token 1f)":          {Name: "ci", Source: access.ByToken, Token: "1f"},
		"ci (token 1f) (oidc)":   {Name: "ci (token 1f)", Source: access.BySignOn},
		"large-07 (cluster)":     {Name: "large-07", Source: access.ByCluster},
	} {
		if got := who.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
