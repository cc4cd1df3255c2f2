package deliver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
)

// stepBuilt is the kind of the steps that record builds.
const stepBuilt = "built"

// Everywhere is the environment of steps about a commit as a whole.
const Everywhere = "*"

// RecordBuild records what CI built from a commit, so that every environment gets the same.
func RecordBuild(ctx context.Context, l promote.Recorder, subject string, b Build, by string, now time.Time) error {
	if err := b.Check(); err != nil {
		return err
	}
	detail, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return l.RecordStep(ctx, ledger.Step{
		PromotionID: ledger.PromotionID{Subject: subject, Commit: b.Commit, Environment: Everywhere},
		Kind:        stepBuilt, Reason: "CI built " + b.Name(), By: by, At: now.UTC(), Detail: detail,
	})
}

// maxBuilds is how many past builds are read.
const maxBuilds = 5000

// RecordedBuilds returns the recorded builds by commit. If a commit was
// built more than once, the latest build is returned.
func RecordedBuilds(ctx context.Context, l Ledger, subject string) (map[string]Build, error) {
	steps, err := l.Steps(ctx, ledger.StepQuery{Subject: subject, Environment: Everywhere, Kind: stepBuilt, Limit: maxBuilds})
	if err != nil {
		return nil, fmt.Errorf("read what CI built: %w", err)
	}
	builds := map[string]Build{}
	for _, s := range steps { // newest first
		var b Build
		if json.Unmarshal(s.Detail, &b) != nil || b.Commit != s.Commit || b.Check() != nil {
			continue
		}
		if _, later := builds[b.Commit]; !later {
			builds[b.Commit] = b
		}
	}
	return builds, nil
}

// FindBuild returns the build with a version, or with a full or abbreviated
// commit. It returns an error if none or several match.
func FindBuild(builds map[string]Build, name string) (Build, error) {
	var found []Build
	for _, commit := range slices.Sorted(maps.Keys(builds)) {
		if b := builds[commit]; b.Version == name || len(name) >= 7 && strings.HasPrefix(commit, name) {
			found = append(found, b)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Build{}, fmt.Errorf("no build %q is recorded; there are %s", name, listBuilds(builds))
	}
	return Build{}, fmt.Errorf("%d commits were built as %q; name the commit", len(found), name)
}

func listBuilds(builds map[string]Build) string {
	const most = 10
	var names []string
	for _, b := range builds {
		names = append(names, b.Name())
	}
	slices.Sort(names)
	if len(names) > most {
		names = append(names[len(names)-most:], "and more")
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// LastGood returns the build to roll an environment back to from the given commit: see [promote.LastGood].
// It returns the zero Build if there is none.
func LastGood(ctx context.Context, l Ledger, subject, environment, commit string) (Build, error) {
	steps, err := l.Steps(ctx, ledger.StepQuery{Subject: subject, Environment: environment})
	if err != nil {
		return Build{}, fmt.Errorf("read what ran in %q: %w", environment, err)
	}
	builds, err := RecordedBuilds(ctx, l, subject)
	if err != nil {
		return Build{}, err
	}
	good := promote.LastGood(steps, commit)
	if good == "" {
		return Build{}, nil
	}
	if b, ok := PublishedBuild(steps, good); ok {
		return b, nil
	}
	b := builds[good]
	b.Commit = good
	return b, nil
}

// PublishedBuild returns the build of a commit that was published last. steps are those of an environment, newest first.
// ok is false if the steps do not have it.
func PublishedBuild(steps []ledger.Step, commit string) (b Build, ok bool) {
	for _, s := range steps {
		if s.Kind != string(promote.Published) || s.Commit != commit {
			continue
		}
		var detail promote.Detail
		if json.Unmarshal(s.Detail, &detail) != nil {
			continue
		}
		b = Build{Commit: commit, Version: detail.Version, Image: detail.Image}
		return b, b.Version+b.Image != "" && b.Check() == nil
	}
	return Build{}, false
}
