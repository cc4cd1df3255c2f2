package deliver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// PinRequest says what one target should have. At most one of Revision, Version and Uninstall is set; without any, the target follows its
// environment again.
type PinRequest struct {
	// Request identifies the application. // required
	Request Request
	// Environment is required for a target whose name is used in several environments.
	Environment string
	// Target is the name of a target in the Workload, or the one that it has in the fleet. // required
	Target string
	// Revision is the commit of a revision of the target, or the beginning of it.
	Revision string
	// Version is the version or the commit of a build, as the environment had it last; or the merged commit of a solution version. That of the
	// environment now means that the target follows it.
	Version string
	// Uninstall removes the objects of the target.
	Uninstall bool
}

// PinnedTo is the pin that a request asks for; zero to follow the environment.
type PinnedTo struct {
	Environment string   `json:"environment"`
	Target      string   `json:"target"`
	Pin         tree.Pin `json:"pin,omitzero"`
	// Build is what the target has then; without a commit if it is not known.
	Build Build `json:"build,omitzero"`
}

// ErrCurrent is returned for a rollback to the revision that the target has.
var ErrCurrent = errors.New("it is the current revision")

// Pin finds the revision that a request asks for. It reads Git only.
func (p *Past) Pin(ctx context.Context, r PinRequest) (PinnedTo, error) {
	if r.Revision == "" && r.Version == "" { // what it had before does not matter
		a, err := p.application(ctx, PastRequest{Request: r.Request})
		if err != nil {
			return PinnedTo{}, err
		}
		to := PinnedTo{Pin: tree.Pin{Uninstalled: r.Uninstall}}
		to.Environment, to.Target, err = a.findTarget(r.Environment, r.Target)
		return to, err
	}
	past, err := p.Revisions(ctx, PastRequest{Request: r.Request, Environment: r.Environment, Target: r.Target, Limit: MaxPast})
	if err != nil {
		return PinnedTo{}, err
	}
	to := PinnedTo{Environment: past.Environment, Target: past.Target}
	if r.Revision != "" {
		err = to.revision(past, r.Revision)
	} else {
		r.Environment = past.Environment
		err = p.version(ctx, &to, past, r)
	}
	if err != nil {
		return to, fmt.Errorf("target %q in %s: %w", to.Target, to.Environment, err)
	}
	return to, nil
}

// revision pins a target to one of its revisions.
func (to *PinnedTo) revision(past *TargetPast, revision string) error {
	var found []Revision
	for _, r := range past.Revisions {
		if isBeginning(revision, r.Commit) {
			found = append(found, r)
		}
	}
	switch {
	case len(found) > 1:
		return fmt.Errorf("several revisions begin with %q; write more of the commit", revision)
	case len(found) == 0 && past.More:
		return fmt.Errorf("%q is not one of its last %d revisions", revision, len(past.Revisions))
	case len(found) == 0:
		return fmt.Errorf("%q is not one of its %d revisions", revision, len(past.Revisions))
	case found[0].Current:
		return fmt.Errorf("revision %s: %w", fleet.ShortCommit(found[0].Commit), ErrCurrent)
	case found[0].Files == "":
		return fmt.Errorf("revision %s removed it; uninstall it instead", fleet.ShortCommit(found[0].Commit))
	}
	to.Pin.Revision, to.Build = found[0].Commit, found[0].Build
	return nil
}

// minPrefix is how many digits of a commit are needed at least.
const minPrefix = 4

func isBeginning(prefix, commit string) bool {
	return len(prefix) >= minPrefix && strings.HasPrefix(commit, prefix)
}

// version pins a target to what it had in a version of its environment. That of the environment now pins nothing.
func (p *Past) version(ctx context.Context, to *PinnedTo, past *TargetPast, r PinRequest) error {
	versions, err := p.Versions(ctx, PastRequest{Request: r.Request, Environment: to.Environment, Limit: MaxPast})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(versions.Versions, func(v EnvironmentVersion) bool {
		return r.Version == v.Build.Version || isBeginning(r.Version, v.Build.Commit) || isBeginning(r.Version, v.Commit)
	})
	if i < 0 {
		return fmt.Errorf("the environment never had %q, among its last %d versions; a build comes to it by promotion", r.Version, len(versions.Versions))
	}
	v := versions.Versions[i]
	if v.Current || v.Build.Commit != "" && v.Build == versions.Versions[0].Build {
		return nil
	}
	at, ok := past.At(v.Commit)
	if !ok || past.Revisions[at].Files == "" {
		return fmt.Errorf("it is not known what it had in version %s of commit %s", v.Build.Name(), fleet.ShortCommit(v.Commit))
	}
	to.Pin.Revision, to.Build = past.Revisions[at].Commit, past.Revisions[at].Build
	return nil
}
