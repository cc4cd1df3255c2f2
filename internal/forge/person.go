package forge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Person says which accounts of forges belong to a user, so that the user's reviews count as approvals.
type Person struct {
	// User is the name of the user, as signing in names it: ada@example.com.
	User string `json:"user"`
	// Groups are the groups of the user, as approvals name them. Default: none.
	Groups []string `json:"groups,omitempty"`
	// Logins are the user's logins, by the name of the forge; that of the embedded forge is local. On Azure DevOps it is the address, on Bitbucket
	// Cloud the Atlassian account ID.
	Logins map[string]string `json:"logins"`
	// Accounts are the IDs of the same accounts, by the name of the forge. Another account can take a login that was given up; an ID
	// does not change. Default: every account with the login counts.
	Accounts map[string]string `json:"accounts,omitempty"`
}

// CheckPeople returns what is wrong with people; forges are the names of the configured forges.
func CheckPeople(people []Person, forges []string) []error {
	var problems []error
	users, logins, accounts := map[string]bool{}, map[string]string{}, map[string]string{}
	for i, p := range people {
		problem := func(format string, args ...any) {
			problems = append(problems, fmt.Errorf("people[%d]%w", i, fmt.Errorf(format, args...)))
		}
		switch user := strings.ToLower(p.User); {
		case strings.TrimSpace(p.User) != p.User || p.User == "":
			problem(".user: %q is not the name of a user", p.User)
		case users[user]:
			problem(".user: %q is in the list twice", p.User)
		default:
			users[user] = true
		}
		if len(p.Logins) == 0 {
			problem(".logins: name at least one login, by the name of its forge")
		}
		for _, name := range slices.Sorted(maps.Keys(p.Logins)) {
			key := name + " " + lowerASCII(p.Logins[name])
			switch {
			case !slices.Contains(forges, name):
				problem(".logins: no forge has the name %q; the forges are %s", name, strings.Join(forges, ", "))
			case !plainText(p.Logins[name], longestLogin):
				problem(".logins.%s: %q is not a login", name, p.Logins[name])
			case logins[key] != "":
				problem(".logins.%s: %q is also the login of %s", name, p.Logins[name], logins[key])
			default:
				logins[key] = p.User
			}
		}
		for _, name := range slices.Sorted(maps.Keys(p.Accounts)) {
			key := name + " " + p.Accounts[name]
			switch {
			case p.Logins[name] == "":
				problem(".accounts.%s: logins has no login for this forge", name)
			case !plainText(p.Accounts[name], longestLogin):
				problem(".accounts.%s: %q is not the ID of an account", name, p.Accounts[name])
			case accounts[key] != "":
				problem(".accounts.%s: %q is also the account of %s", name, p.Accounts[name], accounts[key])
			default:
				accounts[key] = p.User
			}
		}
	}
	return problems
}

// People finds the users of reviews.
type People struct {
	// All are the users, see [CheckPeople].
	All []Person
	// Names are the names of the forges.
	Names map[Forge]string
}

// Find returns the user of a review on a forge. The error explains why there is none, as the end of a sentence.
func (p *People) Find(on Forge, v Review) (Person, error) {
	name := p.Names[on]
	for _, person := range p.All {
		if !SameLogin(person.Logins[name], v.Login) {
			continue
		}
		if id := person.Accounts[name]; id != "" && id != v.Account {
			return Person{}, fmt.Errorf("login %s on %s, which is another account now than the one in people", v.Login, name)
		}
		return person, nil
	}
	return Person{}, fmt.Errorf("login %s on %s, which people does not list", v.Login, name)
}

// Author returns the user who opened a pull request on a forge, as [People.Find] finds reviewers. p may be nil.
func (p *People) Author(on Forge, c PullRequest) (Person, error) {
	if p == nil {
		return Person{}, fmt.Errorf("login %s, and no people are configured", c.Author)
	}
	return p.Find(on, Review{Login: c.Author, Account: c.AuthorAccount})
}

// Authored reports whether a review is by an author of what is reviewed. authors are logins, and names and addresses of Git. It compares
// loosely, since an approval that does not count does no harm.
func (p *Person) Authored(v Review, authors []string) bool {
	own := []string{p.User, v.Login}
	for _, login := range p.Logins {
		own = append(own, login)
	}
	return slices.ContainsFunc(authors, func(author string) bool {
		return slices.ContainsFunc(own, func(name string) bool {
			return strings.EqualFold(name, author) || strings.EqualFold(name, noReply(author))
		})
	})
}

// noReply returns the login in an address that forges give to users who hide their own: 583231+ada@users.noreply.github.com.
// It returns "" for another address.
func noReply(address string) string {
	local, domain, _ := strings.Cut(address, "@")
	if !strings.Contains(strings.ToLower(domain), "noreply") {
		return ""
	}
	if _, login, ok := strings.Cut(local, "+"); ok {
		return login
	}
	if _, login, ok := strings.Cut(local, "-"); ok && strings.Trim(local[:strings.Index(local, "-")], "0123456789") == "" {
		return login // 42-ada@users.noreply.gitlab.com
	}
	return local
}
