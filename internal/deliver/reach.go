package deliver

import (
	"errors"
	"slices"
	"strings"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/forge"
)

// Reasons why an application must not use a repository.
var (
	ErrPlatforms = errors.New("it belongs to the platform; an application cannot use it")
	ErrHost      = errors.New("its host is not configured")
	ErrOthers    = errors.New("it is neither the source nor a repository next to it whose name starts with the source's name and a dash; the platform team can list others in spec.repositories of the WorkloadRegistration")
)

// Bounds limit which repositories applications can use. They are for programs with rights that the applications'
// teams do not have, such as servers.
type Bounds struct {
	// Known reports whether a repository is on a configured host. // required
	Known func(repository string) bool
	// Platforms are the repositories that the platform reads and publishes to.
	Platforms []string
}

// Allow returns an error if an application must not use a repository for its configuration or manifests: [ErrHost],
// [ErrPlatforms] or [ErrOthers]. It may use
//
//	https://host/team/hello-src        its source
//	https://host/team/hello-configs    one next to it: in the same folder, with its name and a dash as prefix
//	any other                          that the platform team lists
//
// on known hosts, but never the platform's repositories, listed or not. Teams that share a folder, such as a forge's
// organization, cannot use each other's repositories. Scheme, user, SSH port and a trailing ".git" are ignored. The
// case of a path is significant, as on some forges; for the platform's repositories it is ignored, as on most forges.
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

// mayBeSame reports whether two URLs can mean the same repository on any forge.
func mayBeSame(a, b string) bool {
	x, err := forge.ParseID(a)
	if err != nil {
		return false
	}
	y, err := forge.ParseID(b)
	return err == nil && strings.EqualFold(x.String(), y.String())
}

// owns reports whether a repository belongs to the application: its source, one next to it, or a listed one.
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

// plainLetters are the characters allowed in the rest of the name. None of them can be mistaken for a path separator.
const plainLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
