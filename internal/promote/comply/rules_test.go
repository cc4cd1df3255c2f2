package comply_test

import (
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/yaml"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet/casetest"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/text/revisions"
)

// question is the short notation of a test case: short hashes, times of one day, and defaults for missing fields.
type question struct {
	Commit, Published, Now string
	// MaxDelay is that of the gate.
	MaxDelay    metav1.Duration `json:"maxDelay"`
	Unpublished bool
	// Line is the history of the branch, oldest first.
	Line     []string
	Gate     *v1alpha1.Gate
	Clusters []struct {
		Name, Heard string
		ReadUntil   string `json:"readUntil"`
		Memberships []string
	}
	// Folders are clusters with folders of their own, with their types there.
	Folders        map[string]string
	FoldersUnknown bool `yaml:"foldersUnknown" json:"foldersUnknown"`
	// Targets selects the gate of an application.
	Targets []struct {
		Name, Path   string
		ClusterTypes []string
	}
	Observations []struct {
		Cluster, Name, Repo, Branch, Path, Revision, State, Message, Applied, Health, Unhealthy, Observed string
	}
}

const gitOps = "https://git.example/platform/gitops.git"

// TestRules runs the cases of testdata, one for each rule: a question, and the verdict as golden text.
func TestRules(t *testing.T) {
	casetest.Run(t, "testdata/*.txtar", func(t *testing.T, c casetest.Case) {
		var q question
		for _, f := range c.Files {
			if f.Name == "question" {
				if err := yaml.UnmarshalStrict(f.Data, &q); err != nil {
					t.Fatal(err)
				}
			}
		}
		question := q.parse(t)
		c.Golden(t, "golden", format(comply.Judge(question, at(q.Now))))
	})
}

func (q *question) parse(t *testing.T) comply.Question {
	gate, err := comply.ParseGate(q.Gate)
	if err != nil {
		t.Fatal(err)
	}
	gate.MaxDelay = q.MaxDelay.Duration
	question := comply.Question{
		Commit: hash(q.Commit), Published: at(q.Published), Unpublished: q.Unpublished, Gate: gate,
		Expected: q.expected(), History: comply.HistoryOf(q.history()),
	}
	for _, o := range q.Observations {
		question.Observations = append(question.Observations, comply.Observation{
			Cluster: o.Cluster, Reconciler: usual(o.Name, "platform"),
			Source:   hub.Source{Repository: usual(o.Repo, gitOps), Ref: o.Branch, Path: usual(o.Path, q.folder(o.Cluster))},
			Revision: revision(o.Revision), State: hub.State(o.State), Message: o.Message, Observed: at(o.Observed),
			Applied: applied(o.Applied), Health: hub.Health(o.Health), Unhealthy: o.Unhealthy,
		})
	}
	return question
}

// applied returns a revision, or none for "".
func applied(short string) revisions.Revision {
	if short == "" {
		return revisions.Revision{}
	}
	return revision(short)
}

// folder returns the folder of the cluster's first type.
func (q *question) folder(cluster string) string {
	for _, c := range q.Clusters {
		if c.Name == cluster {
			return path.Join("fleet", path.Base(c.Memberships[0]))
		}
	}
	return ""
}

func (q *question) expected() []comply.Expected {
	var clusters []comply.Cluster
	for _, c := range q.Clusters {
		cluster := comply.Cluster{Name: c.Name, Heard: at(c.Heard), ReadUntil: at(c.ReadUntil)}
		for _, m := range c.Memberships {
			environment, clusterType, _ := strings.Cut(m, "/")
			cluster.Memberships = append(cluster.Memberships, comply.Membership{Environment: environment, ClusterType: clusterType})
		}
		clusters = append(clusters, cluster)
	}
	if q.Targets == nil {
		return comply.ExpectPlatform(clusters, "dev", hub.Source{Repository: gitOps, Ref: "dev", Path: "fleet"}, comply.Folders{Types: q.Folders, Unknown: q.FoldersUnknown})
	}
	var targets []comply.Target
	for _, target := range q.Targets {
		targets = append(targets, comply.Target{
			Name: target.Name, ClusterTypes: target.ClusterTypes, Source: hub.Source{Repository: gitOps, Ref: "dev", Path: target.Path},
		})
	}
	return comply.ExpectTargets(clusters, "dev", targets)
}

func (q *question) history() map[string]bool {
	known, reached := map[string]bool{}, false
	for _, name := range q.Line {
		reached = reached || name == q.Commit
		known[hash(name)] = reached
	}
	return known
}

func usual(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// revision returns what Flux reports for a commit of the branch dev. Longer texts are returned unchanged.
func revision(text string) revisions.Revision {
	if len(text) == 2 {
		text = "dev@sha1:" + hash(text)
	}
	return revisions.Parse(text)
}

func hash(short string) string { return short + strings.Repeat("0", 40-len(short)) }

// at returns a time on the day of the test cases; zero if clock is empty.
func at(clock string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", "2026-11-20 "+clock)
	if err != nil {
		return time.Time{}
	}
	return t
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format("15:04")
}

func format(v comply.Verdict) string {
	var b strings.Builder
	c := v.Counts
	fmt.Fprintf(&b, "%s: %s\n", v.Result, v.Reason)
	fmt.Fprintf(&b, "expected %d, counted %d, required %d: reached %d, behind %d, failed %d, offline %d, missing %d\n",
		c.Expected, c.Counted, c.Required, c.Reached, c.Behind, c.Failed, c.Offline, c.Missing)
	if c.Degraded > 0 {
		fmt.Fprintf(&b, "degraded %d\n", c.Degraded)
	}
	fmt.Fprintf(&b, "since %s, may change by itself at %s\n", clock(v.Since), clock(v.Next))
	for _, r := range v.Reconcilers {
		fmt.Fprintf(&b, "%s %s%s: %s since %s, %s\n", r.Cluster, r.ClusterType, strings.TrimRight(" "+r.Target, " "), r.State, clock(r.Since), r.Reason)
	}
	return b.String()
}
