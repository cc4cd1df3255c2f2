package forge_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
)

func TestCheckPeople(t *testing.T) {
	ada := forge.Person{User: "ada@example.com", Logins: map[string]string{"github": "ada"}}
	for name, test := range map[string]struct {
		people []forge.Person
		want   string
	}{
		"valid":           {[]forge.Person{ada, {User: "ben", Logins: map[string]string{"github": "ben", "local": "ada"}, Accounts: map[string]string{"github": "1"}}}, ""},
		"no user":         {[]forge.Person{{Logins: ada.Logins}}, `people[0].user: "" is not the name of a user`},
		"twice":           {[]forge.Person{ada, {User: "Ada@Example.com", Logins: map[string]string{"local": "x"}}}, `people[1].user: "Ada@Example.com" is in the list twice`},
		"no login":        {[]forge.Person{{User: "ben"}}, "people[0].logins: name at least one login"},
		"unknown forge":   {[]forge.Person{{User: "ben", Logins: map[string]string{"gitlab": "ben"}}}, `people[0].logins: no forge has the name "gitlab"; the forges are github, local`},
		"the same login":  {[]forge.Person{ada, {User: "ben", Logins: map[string]string{"github": "ADA"}}}, `people[1].logins.github: "ADA" is also the login of ada@example.com`},
		"an empty login":  {[]forge.Person{{User: "ben", Logins: map[string]string{"github": " "}}}, `people[0].logins.github: " " is not a login`},
		"an account only": {[]forge.Person{{User: "ben", Logins: ada.Logins, Accounts: map[string]string{"local": "1"}}}, "people[0].accounts.local: logins has no login for this forge"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, err := range forge.CheckPeople(test.people, []string{"github", "local"}) {
				got = append(got, err.Error())
			}
			if all := strings.Join(got, "; "); test.want == "" && all != "" || !strings.HasPrefix(all, test.want) {
				t.Errorf("got %q, want %q", all, test.want)
			}
		})
	}
}

func TestFind(t *testing.T) {
	people := &forge.People{Names: map[forge.Forge]string{nil: "github"}, All: []forge.Person{
		{User: "ada@example.com", Logins: map[string]string{"github": "Ada"}, Accounts: map[string]string{"github": "7"}},
		{User: "kim@example.com", Logins: map[string]string{"github": "kim"}},
		{User: "cy@example.com", Logins: map[string]string{"gitlab": "cy"}},
	}}
	for name, test := range map[string]struct {
		login, account, want string
	}{
		"known":                      {"ada", "7", "ada@example.com"},
		"without an ID":              {"KIM", "8", "kim@example.com"},
		"a login that another took":  {"ada", "9", "login ada on github, which is another account now than the one in people"},
		"a stranger":                 {"mallory", "9", "login mallory on github, which people does not list"},
		"a login of another forge":   {"cy", "9", "login cy on github, which people does not list"},
		"a login that looks similar": {"\u212Aim", "9", "login \u212Aim on github, which people does not list"},
		"the ID of another user":     {"mallory", "7", "login mallory on github, which people does not list"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := people.Find(nil, forge.Review{Login: test.login, Account: test.account})
			got := p.User
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestAuthored(t *testing.T) {
	ada := &forge.Person{User: "ada@example.com", Logins: map[string]string{"github": "ada", "gitlab": "countess"}}
	for author, want := range map[string]bool{
		"ADA": true, "Ada@Example.com": true, "countess": true,
		"583231+ada@users.noreply.github.com": true, "42-countess@users.noreply.gitlab.com": true, "ada@noreply.gitea.example": true,
		"ben": false, "ada@elsewhere.example": false, "42+ben@users.noreply.github.com": false, "": false,
	} {
		if got := ada.Authored(forge.Review{Login: "ada"}, []string{"Ben", author}); got != want {
			t.Errorf("%q: got %v", author, got)
		}
	}
}
