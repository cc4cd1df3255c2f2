package tour

import (
	"strings"

	"github.com/kalypso-io/kalypso/internal/sample"
)

// The environments and the cluster of the tour.
const (
	dev, stage = "dev", "stage"
	cluster    = "large"
)

// step is one step of the tour.
type step struct {
	// name is in the branch of its pull request; empty for a step without a change.
	name  string
	title string
	// text says what happens, and why.
	text string
	// change is what the user edits; nil for none. A step that follows up on the change of the step before has that one.
	change *change
	// places are where the change has to arrive.
	places []place
	// fails is a step in which the cluster fails first; recovers one in which it is repaired.
	fails, recovers bool
}

// change is an edit of one file.
type change struct {
	repository, base, file string
	// input is the name of this source in the inputs of a published commit.
	input string
	// title is that of its commit and pull request.
	title string
	// suggest returns the suggested content. A missing file is empty.
	suggest func(content string) string
}

// place is a branch that clusters follow.
type place struct {
	repository, environment string
	// application is the workload of an application's manifests; empty for those of the platform.
	application string
}

func (p place) String() string {
	if p.application != "" {
		return p.application + " in " + p.environment
	}
	return "the platform's files in " + p.environment
}

func platform(environment string) place { return place{sample.GitOps, environment, ""} }

func application(environment string) place { return place{sample.AppGitOps, environment, sample.App} }

const support = `apiVersion: v1
kind: ConfigMap
metadata:
  name: support
  labels: {platform-config: "true"}
data:
  SUPPORT: call 4711
`

// number is the change that fails first, and arrives in the last step.
var number = &change{
	repository: sample.ControlPlane, base: "main", file: "support.yaml", input: "main", title: "Move the support",
	suggest: func(content string) string {
		if !strings.Contains(content, "4711") { // the step that writes it was skipped
			content = support
		}
		return strings.ReplaceAll(content, "4711", "4712")
	},
}

// steps are the tour.
var steps = []step{
	{
		title: "Approve what waits",
		text: "Kalypso has matched the application's targets to cluster types, and written their manifests. Pull requests for dev are merged automatically. " +
			"Those for stage wait for you: first the assignments of the platform, then the manifests of hello-world-app, once dev runs them.",
		places: []place{platform(stage), application(stage)},
	},
	{
		name: "release", title: "Release a version",
		text: "You are the application team. The version is a file of your source repository, and you know nothing of clusters. " +
			"Kalypso renders the chart for dev, and proposes it for stage once the clusters of dev run it.",
		change: &change{
			repository: sample.App, base: "main", file: "VERSION", input: "source", title: "Release 1.1.0",
			suggest: func(string) string { return "1.1.0\n" },
		},
		places: []place{application(dev), application(stage)},
	},
	{
		name: "database", title: "Change a value in one environment",
		text: "You are the platform team. In stage, the clusters of the west get a database of their own. This file is on the branch of stage, so dev keeps its value. " +
			"The plan names the targets that change, and the line from which the value comes.",
		change: &change{
			repository: sample.ControlPlane, base: stage, file: "cluster-types/west-us/west-us-config.yaml", input: stage, title: "Give stage a database in the west",
			suggest: func(content string) string {
				return strings.ReplaceAll(content, "mysql://west:8806/db", "mysql://west-stage:8806/mysql2")
			},
		},
		places: []place{platform(stage)},
	},
	{
		name: "support", title: "Change something everywhere",
		text: "A file on main is for all environments. The same commit goes to dev first, and is proposed for stage only when every cluster of dev runs it.",
		change: &change{
			repository: sample.ControlPlane, base: "main", file: "support.yaml", input: "main", title: "Say which number to call",
			suggest: func(content string) string {
				if content != "" {
					return content
				}
				return support
			},
		},
		places: []place{platform(dev), platform(stage)},
	},
	{
		name: "number", title: "See a cluster fail",
		text: "Let the cluster large reject what is new, then change something on main. The promotion stops in dev, and says which cluster fails and why: stage never gets a commit " +
			"that did not work.",
		change: number, places: []place{platform(dev)}, fails: true,
	},
	{
		title:  "Repair it",
		text:   "Repair the cluster. Nothing has to be started again: as soon as large runs the commit, Kalypso goes on and proposes it for stage.",
		change: number, places: []place{platform(dev), platform(stage)}, recovers: true,
	},
}

// branch is the branch of a step's pull request.
func (s *step) branch() string { return "tour/" + s.name }
