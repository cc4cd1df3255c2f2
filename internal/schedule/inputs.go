package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Inputs are the commits that an environment was read at. A plain folder has no commit.
type Inputs struct {
	// Branch and Main are the environment's branch and the base branch of the control plane.
	Branch, Main Input
	// Others are the configuration and workload repositories, sorted by repository and branch.
	Others []Input
}

// Input is one source with its commit.
type Input struct {
	// Name is the display name: a branch of the control plane, or a URL.
	Name   string `json:"name"`
	Repo   string `json:"repo"`
	Branch string `json:"branch,omitempty"`
	Commit string `json:"commit,omitempty"`
	// Time is when the commit was made; zero for a plain folder.
	Time time.Time `json:"-"`
	// Subject says in one line what the commit changes; empty for a plain folder.
	Subject string `json:"-"`
}

// String returns the name with the short commit: "dev@1f0c2aa".
func (i Input) String() string {
	if i.Commit == "" {
		return i.Name
	}
	return i.Name + "@" + i.Commit[:min(7, len(i.Commit))]
}

// String names the control plane's commits: "dev@1f0c2aa, main@5523a85".
func (i Inputs) String() string { return i.Branch.String() + ", " + i.Main.String() }

// Newest is when the last of the commits was made; zero for plain folders.
func (i Inputs) Newest() time.Time {
	var newest time.Time
	for _, input := range i.All() {
		if input.Time.After(newest) {
			newest = input.Time
		}
	}
	return newest
}

func (w *walk) sortedInputs() Inputs {
	slices.SortFunc(w.inputs.Others, func(a, b Input) int {
		return strings.Compare(a.Repo+"\x00"+a.Branch, b.Repo+"\x00"+b.Branch)
	})
	w.inputs.Others = slices.DeleteFunc(slices.Compact(w.inputs.Others), func(i Input) bool {
		return i == w.inputs.Main || i == w.inputs.Branch
	})
	return w.inputs
}

// public returns all inputs without credentials.
func (i Inputs) public() []Input {
	all := i.All()
	for n := range all {
		all[n].Repo = secret.Redact(all[n].Repo)
	}
	return all
}

// commits returns the commits by input name.
func (i Inputs) commits() map[string]string {
	commits := map[string]string{}
	for _, input := range i.All() {
		if input.Commit != "" {
			commits[input.Name] = input.Commit
		}
	}
	return commits
}

// All returns the branches of the control plane, and then the others.
func (i Inputs) All() []Input { return append([]Input{i.Branch, i.Main}, i.Others...) }

// Time returns the time of the newest commit; zero if all inputs are plain folders. It is the date of generated
// commits, so that they are reproducible.
func (i Inputs) Time() time.Time {
	var newest time.Time
	for _, input := range i.All() {
		if input.Time.After(newest) {
			newest = input.Time
		}
	}
	return newest
}

// Trailers returns the lines for the end of a commit message, one for each source with a commit:
//
//	Kalypso-Inputs: dev@1f0c2aa…
//	Kalypso-Inputs: https://example.com/shop@77d1e04…
func (i Inputs) Trailers() []string {
	var lines []string
	for _, input := range i.All() {
		line := fmt.Sprintf("Kalypso-Inputs: %s@%s", input.Name, input.Commit)
		if input.Commit != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}
