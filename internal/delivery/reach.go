package delivery

import (
	"strings"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/forge"
)

// Reaches reports whether a repository is one that the application may name for its configuration and manifests where somebody
// else's rights are used, as a server does:
//
//	https://host/team/hello-src        its source
//	https://host/team/hello-configs    one beside it: in the same folder, called by its name and a dash
//	any other                          when the platform team lists it
//
// Whoever shares a folder with others, as all teams of an organization do on some forges, reaches none of theirs. Scheme, user, port
// of ssh and a trailing ".git" do not matter; the case of the path does, since there are forges to which it matters.
func (r Request) Reaches(repository string) bool {
	id, err := forge.ParseID(repository)
	if err != nil {
		return false
	}
	for _, allowed := range append([]string{r.Source}, r.Repositories...) {
		if own, err := forge.ParseID(allowed); err == nil && own == id {
			return true
		}
	}
	beside, err := forge.ParseID(app.Sibling(r.Source, "-"))
	if err != nil {
		return false
	}
	ending, ok := strings.CutPrefix(id.String(), beside.String())
	return ok && ending != "" && strings.Trim(ending, plainLetters) == ""
}

// plainLetters are what the rest of such a name consists of: nothing that anybody could take for the end of a folder.
const plainLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
