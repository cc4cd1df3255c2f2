package local

import (
	"errors"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
)

func TestAPushByAnAdministratorCreatesTheRepository(t *testing.T) {
	f := serve(t, Options{PublicRead: anyClient})
	work := newClient(t, newRepository(t, f), Admin)
	work.run("init", "-q", "-b", "main")
	work.commit("README.md", "new")
	for name, tc := range map[string]struct {
		right Right
		path  string
		want  string // git's message; empty if allowed
	}{
		"administrator":         {Admin, "new/thing", ""},
		"again":                 {Admin, "new/thing", ""},
		"writer":                {Write, "new/other", "not found"},
		"a name that cannot be": {Admin, "new/.hidden", "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			token, _, err := f.CreateToken(t.Context(), name, Account{Name: "carol", Right: tc.right})
			if err != nil {
				t.Fatal(err)
			}
			url := strings.Replace(f.URL, "://", "://carol:"+token.Reveal()+"@", 1) + "/" + tc.path
			output, err := work.try("push", "-q", url, "HEAD:refs/heads/main")
			if (err == nil) != (tc.want == "") || !strings.Contains(output, tc.want) {
				t.Errorf("push: %v\n%s", err, output)
			}
		})
	}
	if _, err := f.find(t.Context(), "new/thing"); err != nil {
		t.Errorf("the repository is not there: %v", err)
	}
	if _, err := f.find(t.Context(), "new/other"); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("a writer made a repository: %v", err)
	}
}
