package schedule

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// grown is a control plane whose branches have histories: the letters of commits, oldest first.
type grown struct {
	*shelf
	history map[string]string
}

func (g grown) Fork(_ context.Context, branch Location, _, commit string) (string, error) {
	shared := ""
	for i := range len(commit) {
		if strings.ContainsRune(g.history[branch.Branch], rune(commit[i])) {
			shared = commit[i : i+1]
		}
	}
	if shared == "" {
		return "", errors.New("no common history")
	}
	return shared, nil
}

func (g grown) Contains(_ context.Context, branch Location, commit string) (bool, error) {
	return strings.Contains(g.history[branch.Branch], commit), nil
}

// A change affects the branch that it is on, or that it will be merged into. A commit is written with its history here.
func TestDestination(t *testing.T) {
	all := []string(nil)
	for name, test := range map[string]struct {
		history      map[string]string
		change       Change
		environment  string
		branch       string
		environments []string
		err          string
	}{
		"main":                         {change: Change{Branch: "main", Commit: "abx"}, branch: "main", environments: all},
		"main before the first commit": {change: Change{Branch: "main"}, branch: "main", environments: all},
		"an environment":               {change: Change{Branch: "dev", Commit: "dex"}, branch: "dev", environments: []string{"dev"}},
		"cut from main":                {change: Change{Branch: "topic", Commit: "abx"}, branch: "main", environments: all},
		"cut from main, not newest":    {change: Change{Branch: "topic", Commit: "ax"}, branch: "main", environments: all},
		"cut from an environment":      {change: Change{Branch: "topic", Commit: "stx"}, branch: "stage", environments: []string{"stage"}},
		"a commit without a branch":    {change: Change{Commit: "dex"}, branch: "dev", environments: []string{"dev"}},
		"environments were cut from main": {
			history: map[string]string{"main": "abc", "dev": "ade", "stage": "adst"}, change: Change{Branch: "topic", Commit: "adsx"},
			branch: "stage", environments: []string{"stage"},
		},
		"they share the same":       {history: map[string]string{"main": "ab", "dev": "ad", "stage": "as"}, change: Change{Branch: "topic", Commit: "ax"}, branch: "main", environments: all},
		"a history of its own":      {change: Change{Branch: "prod", Commit: "xy"}, branch: "prod", environments: []string{"prod"}},
		"a branch without a commit": {change: Change{Branch: "prod"}, branch: "prod", environments: []string{"prod"}},
		"named":                     {change: Change{Branch: "topic", Commit: "abx", Into: "dev"}, branch: "dev", environments: []string{"dev"}},
		"named on main":             {change: Change{Branch: "main", Commit: "abx", Into: "stage"}, branch: "stage", environments: []string{"stage"}},
		"not registered":            {change: Change{Branch: "prod", Commit: "stx"}, environment: "prod", branch: "prod", environments: []string{"prod"}},
		"named, and not there":      {change: Change{Branch: "topic", Commit: "abx", Into: "prod"}, err: `"prod" is neither main nor the branch of an environment: there are main, dev, stage`},
		"nothing is known of it":    {change: Change{Commit: "xy"}, err: "shares no history"},
	} {
		g := grown{helloFleet(t, nil), map[string]string{"main": "abc", "dev": "def", "stage": "stu"}}
		if test.history != nil {
			g.history = test.history
		}
		l := &Loader{Repositories: g}
		got, err := l.Destination(t.Context(), Request{ControlPlane: "control-plane", Environment: test.environment}, test.change)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: got %+v and error %v, want %q", name, got, err, test.err)
			}
			continue
		}
		if want := (Destination{test.branch, slices.Clone(test.environments)}); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: got %+v and error %v, want %+v", name, got, err, want)
		}
	}
}
