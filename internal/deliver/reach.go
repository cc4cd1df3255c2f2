package deliver

import (
	"errors"
	"slices"
	"strings"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/forge"
)

// Why an application must not use a repository.
var (
	ErrPlatforms = errors.New("it is the platform's; an application cannot use it")
	ErrHost      = errors.New("nobody configured its host")
	ErrOthers    = errors.New("it is neither the source nor a repository beside it that is called by its name and a dash; the platform team lists others in spec.repositories of the WorkloadRegistration")
)

// Bounds are those of applications that are delivered with rights that their teams have not, as a server does it.
type Bounds struct {
	// Known reports whether a repository is on a host that somebody configured. // required
	Known func(repository string) bool
	// Platforms are the repositories that the platform reads and publishes to.
	Platforms []string
}

// Allow returns why an application must not name a repository for its configuration or manifests: [ErrHost], [ErrPlatforms] or
// [ErrOthers]. It may name
//
//	https://host/team/hello-src        its source
//	https://host/team/hello-configs    one beside it: in the same folder, called by its name and a dash
//	any other                          when the platform team lists it
//
// on hosts that are known, and none of the platform's, listed or not. Whoever shares a folder with others, as all teams of an organization
// do on some forges, reaches none of theirs. Scheme, user, port of ssh and a trailing ".git" do not matter. The case of a path
// does, since there are forges to which it matters; for what is the platform's it does not, since to most it does not.
func (b Bounds) Allow(r Request, repository string) error {
	switch {
	case !b.Known(repository):
		return ErrHost
	case slices.ContainsFunc(b.Platforms, func(url string) bool { return mayBeSame(url, repository) }):
		return ErrPlatforms
	case !r.owns(repository):
		return ErrOthers
	}
	return nil
}

// mayBeSame reports whether there is a forge to which two URLs mean the same repository.
func mayBeSame(a, b string) bool {
	x, err := forge.ParseID(a)
	if err != nil {
		return false
	}
	y, err := forge.ParseID(b)
	return err == nil && strings.EqualFold(x.String(), y.String())
}

// owns reports whether a repository is the application's: its source, one beside it, or one that is listed.
func (r Request) owns(repository string) bool {
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
