package schedule

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/sweeptest"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// The fleet of these tests has every kind that can be imagined: clusters with and without a folder, and a cluster type that extends another one.
const imaginedClusters = `
apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata: {name: tiny, labels: {size: tiny}}
spec: {extends: drone}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Cluster
metadata: {name: drone-001}
spec: {clusterType: drone, labels: {site: hall}}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Cluster
metadata: {name: large-001}
spec: {clusterType: large}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: hall, labels: {platform-config: "true", site: hall}}
data: {HALL: "7"}
`

// TestWhatIfIsTheRealChange compares the plan of each imagined change with that of the same edit, on a fleet of which everything is published
// and one policy cannot be read. With the policy, it tries a sample of the changes.
func TestWhatIfIsTheRealChange(t *testing.T) {
	for _, broken := range []string{"", "control-plane/dev/scheduling/kaizen/functional-test-policy.yaml"} {
		before := helloFleet(t, map[string]string{"control-plane/dev/clusters.yaml": imaginedClusters})
		before.publishAgain(t)
		if broken != "" {
			if _, ok := before.files[broken]; !ok {
				t.Fatalf("no %s in %q", broken, slices.Sorted(maps.Keys(before.files)))
			}
			before.files[broken] = "broken: [\n"
			before.publishAgain(t)
		}
		changes := imaginable(before.load(t, Request{Environment: "dev"}).Snapshot)
		if broken != "" {
			var sample []string
			for _, n := range sweeptest.Points(t, len(changes)) {
				sample = append(sample, changes[n])
			}
			changes = sample
		}
		for _, change := range changes {
			t.Run(broken+change, func(t *testing.T) {
				w, err := fleet.ParseWhatIf(change)
				if err != nil {
					t.Fatal(err)
				}
				after := before.edited(t, change)
				real := after.draft(t, DraftRequest{Request: Request{Environment: "dev"}})
				imagined := before.draft(t, DraftRequest{Request: Request{Environment: "dev"}, WhatIf: []fleet.WhatIf{w}})
				if diff := cmp.Diff(planText(t, real), planText(t, imagined)); diff != "" {
					t.Errorf("-real +imagined:\n%s", diff)
				}
			})
		}
	}
}

// publishAgain publishes what the next schedule would.
func (s *shelf) publishAgain(t *testing.T) {
	t.Helper()
	d := s.draft(t, DraftRequest{Request: Request{Environment: "dev"}})
	for _, change := range d.Bundle.Changes() {
		if change.Content == nil {
			delete(s.files, "gitops/dev/"+change.Path)
		} else {
			s.files["gitops/dev/"+change.Path] = string(change.Content)
		}
	}
}

// imaginable returns changes of every form for the objects of a fleet.
func imaginable(s *fleet.Snapshot) []string {
	var all []string
	for _, ct := range s.ClusterTypes {
		all = append(all, "clusterType:"+ct.Name+"=absent", "label:clusterType/"+ct.Name+"/region=nowhere", "capacity:"+ct.Name+"/assignments=1", "taint:"+ct.Name+"/gone=NoExecute")
	}
	for _, c := range s.Clusters {
		all = append(all, "cluster:"+c.Name+"=absent", "label:cluster/"+c.Name+"/site=yard")
	}
	for _, target := range s.Targets {
		all = append(all, "target:"+target.String()+"=absent", "label:target/"+target.String()+"/purpose=none")
	}
	for _, p := range s.Policies {
		all = append(all, "policy:"+p.Name+"=absent")
	}
	for _, c := range s.Configs {
		for _, e := range c.Entries {
			all = append(all, "value:"+c.Name+"/"+e.Key+"=9", "value:"+c.Name+"/"+e.Key+"=")
		}
		all = append(all, "value:"+c.Name+"/ADDED=1")
	}
	return all
}

// planText is what a plan says, without the lines of documents, which an edit moves.
func planText(t *testing.T, d *Draft) string {
	t.Helper()
	text, err := json.MarshalIndent(map[string]any{
		"counts": d.Plan.Counts, "assignments": d.Plan.Assignments, "folders": d.Plan.ClusterTypes, "refusals": d.Plan.Refusals,
		"budget": d.Plan.Budget, "moves": d.Plan.Moves,
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if !strings.Contains(line, `"line":`) {
			lines = append(lines, strings.TrimSuffix(line, ","))
		}
	}
	for _, p := range d.Plan.Problems {
		if p.Severity == fleet.SeverityError {
			lines = append(lines, fmt.Sprint(p.Kind, p.Object, p.Assignment, p.Message))
		}
	}
	return strings.Join(lines, "\n")
}

// edited returns a fleet in whose documents a change is made.
func (s *shelf) edited(t *testing.T, change string) *shelf {
	t.Helper()
	what, rest, _ := strings.Cut(change, ":")
	place, value, _ := strings.Cut(rest, "=")
	parts := strings.Split(place, "/")
	after := &shelf{files: maps.Clone(s.files), broken: s.broken}
	edit := func(kind, name string, do func(document map[string]any) bool) {
		for _, file := range slices.Sorted(maps.Keys(s.files)) {
			if strings.HasSuffix(file, ".yaml") && !strings.HasPrefix(file, "gitops/") && !strings.Contains(file, "/stage/") {
				after.files[file] = rewritten(t, s.files[file], kind, name, do)
			}
		}
	}
	kinds := map[string]string{"clusterType": "ClusterType", "cluster": "Cluster", "policy": "SchedulingPolicy"}
	set := func(in map[string]any, keys ...string) bool {
		for _, key := range keys[:len(keys)-1] {
			if _, ok := in[key].(map[string]any); !ok {
				in[key] = map[string]any{}
			}
			in = in[key].(map[string]any)
		}
		if in[keys[len(keys)-1]] = value; value == "" {
			delete(in, keys[len(keys)-1])
		}
		return true
	}
	target := func(workload, short string, do func(entry map[string]any) bool) {
		edit("Workload", workload, func(d map[string]any) bool {
			spec := d["spec"].(map[string]any)
			spec["deploymentTargets"] = slices.DeleteFunc(spec["deploymentTargets"].([]any), func(entry any) bool {
				e := entry.(map[string]any)
				return e["name"] == short && e["environment"] == "dev" && !do(e)
			})
			return true
		})
	}
	switch {
	case what == "label" && parts[0] == "target":
		target(parts[1], parts[2], func(e map[string]any) bool { return set(e, "labels", parts[3]) })
	case what == "label" && parts[0] == "cluster":
		edit("Cluster", parts[1], func(d map[string]any) bool { return set(d, "spec", "labels", parts[2]) })
	case what == "label":
		edit("ClusterType", parts[1], func(d map[string]any) bool { return set(d, "metadata", "labels", parts[2]) })
	case what == "capacity":
		edit("ClusterType", parts[0], func(d map[string]any) bool { return set(d, "spec", "capacity", parts[1]) })
	case what == "taint":
		edit("ClusterType", parts[0], func(d map[string]any) bool {
			d["spec"].(map[string]any)["taints"] = []any{map[string]any{"key": parts[1], "effect": value}}
			return true
		})
	case what == "value":
		edit("ConfigMap", parts[0], func(d map[string]any) bool { return set(d, "data", parts[1]) })
	case what == "target":
		target(parts[0], parts[1], func(map[string]any) bool { return false })
	default:
		edit(kinds[what], place, func(map[string]any) bool { return false })
	}
	return after
}

// rewritten returns a file without the documents that do returns false for, or text if it has none of the name.
func rewritten(t *testing.T, text, kind, name string, do func(map[string]any) bool) string {
	t.Helper()
	decoder, found := yaml.NewDecoder(strings.NewReader(text)), false
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	for {
		var d map[string]any
		if decoder.Decode(&d) != nil {
			break
		}
		metadata, _ := d["metadata"].(map[string]any)
		if d["kind"] == kind && metadata["name"] == name {
			if found = true; !do(d) {
				continue
			}
		}
		if err := encoder.Encode(d); err != nil {
			t.Fatal(err)
		}
	}
	if !found {
		return text
	}
	return b.String()
}

// What a plan of an imagined change holds because of what is published, a bundle of an empty branch does not know.
func TestAsPublishedHasWhatIsHeld(t *testing.T) {
	s := helloFleet(t, nil)
	s.publish(t, "dev")
	s.files["gitops/dev/notes.txt"] = "by hand"
	d := s.draft(t, DraftRequest{Request: Request{Environment: "dev"}})
	p, err := d.Bundle.AsPublished()
	if err != nil {
		t.Fatal(err)
	}
	if again := bundle.Build(d.Loaded.Snapshot, p, nil); len(again.Changes()) > 0 || p.Count() != d.Bundle.Count() {
		t.Errorf("once it is published, there are %d changes and %d assignments", len(again.Changes()), p.Count())
	}
	if _, known := p.Hash("notes.txt"); !known {
		t.Error("files of others are not there")
	}
}
