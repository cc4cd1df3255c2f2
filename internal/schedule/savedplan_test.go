package schedule

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

const eastConfig = "control-plane/dev/cluster-types/east-us/drone/drone-config.yaml"

// save drafts the environment dev and reads its saved plan back from a file.
func (s *shelf) save(t *testing.T, r DraftRequest) (*SavedPlan, *Draft) {
	t.Helper()
	r.Environment = "dev"
	d := s.draft(t, r)
	saved, err := d.Save("v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(saved, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	read, err := ReadSavedPlan(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return read, d
}

// TestSavedPlanListsWhatIsWritten: for any change of the fleet, the plan has a digest of each file that a draft writes, and accepts that draft.
func TestSavedPlanListsWhatIsWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := helloFleet(t, nil)
		s.publish(t, "dev")
		for name, text := range maps.Clone(s.files) {
			switch {
			case !strings.HasPrefix(name, "control-plane/dev/") || !strings.HasSuffix(name, "-config.yaml"):
			case rapid.Bool().Draw(rt, "change "+name):
				s.files[name] = strings.Replace(text, "\ndata:", "\ndata:\n  NEW: "+rapid.StringMatching(`"[a-z]{0,8}"`).Draw(rt, "value"), 1)
			case rapid.Bool().Draw(rt, "remove "+name):
				delete(s.files, name)
			}
		}
		saved, d := s.save(t, DraftRequest{})
		put, remove := Edits(d.Bundle.Changes())
		if len(saved.Files) != len(put)+len(remove) {
			rt.Fatalf("%d files in the plan, %d to write, %d to delete", len(saved.Files), len(put), len(remove))
		}
		for _, f := range saved.Files {
			content, written := put[f.Path]
			if sum := sha256.Sum256(content); written && f.SHA256 != hex.EncodeToString(sum[:]) || !written && f.SHA256 != "" {
				rt.Errorf("%s: the plan has %q", f.Path, f.SHA256)
			}
		}
		if err := saved.Check(d); err != nil {
			rt.Error(err)
		}
	})
}

func TestSavedPlanSaysWhatDiffers(t *testing.T) {
	plan, _ := helloFleet(t, nil).save(t, DraftRequest{})
	for name, c := range map[string]struct {
		change func(*shelf)
		want   string
	}{
		"nothing": {func(*shelf) {}, ""},
		"another value": {func(s *shelf) {
			s.files[eastConfig] = strings.Replace(s.files[eastConfig], "\ndata:", "\ndata:\n  NEW: x", 1)
		}, `"drone/hello-world-app-functional-test/platform-config.yaml" would get other content`},
		"a published file": {func(s *shelf) { s.publish(t, "dev") }, "the GitOps branch moved: dev is at "},
		"a removed policy": {func(s *shelf) { delete(s.files, "control-plane/dev/scheduling/kaizen/performance-test-policy.yaml") }, "is in the plan, and would not change now"},
	} {
		s := helloFleet(t, nil)
		c.change(s)
		_, d := s.save(t, DraftRequest{})
		err := plan.Check(d)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrPlanChanged) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	_, folder := helloFleet(t, nil).save(t, DraftRequest{Folder: "gitops/dev"})
	if err := plan.Check(folder); !errors.Is(err, ErrPlanChanged) || !strings.Contains(err.Error(), "plan with --against FOLDER") {
		t.Errorf("to a folder: got %v", err)
	}
}

func TestOnlyWhatCanBeWrittenIsSaved(t *testing.T) {
	s := helloFleet(t, nil)
	r := Request{Environment: "dev"}
	change, err := fleet.ParseWhatIf("clusterType:large=absent")
	if err != nil {
		t.Fatal(err)
	}
	for name, request := range map[string]DraftRequest{
		"an imagined change":         {Request: r, WhatIf: []fleet.WhatIf{change}},
		"another state":              {Request: r, Base: &Request{ControlPlane: "control-plane", Environment: "dev"}},
		"nothing to compare it with": {Request: r, Unpublished: true},
	} {
		if _, err := s.draft(t, request).Save("v1"); err == nil {
			t.Errorf("%s is saved", name)
		}
	}
}

// TestSavedPlanFileFromElsewhere: a file that is not a plan, was changed, or has another format is refused, and never a panic.
func TestSavedPlanFileFromElsewhere(t *testing.T) {
	plan, _ := helloFleet(t, nil).save(t, DraftRequest{})
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ file, want string }{
		"empty":             {"", "it is not a plan"},
		"a list":            {"[]", "it is not a plan"},
		"another document":  {`{"version": 1}`, "it is not a plan"},
		"two documents":     {string(text) + string(text), "it is not a plan"},
		"cut":               {string(text[:len(text)/2]), "it is not a plan"},
		"newer":             {`{"format": 2}`, "it has format 2; this program knows up to 1"},
		"unknown field":     {`{"format": 1, "run": "rm"}`, "fields that a saved plan does not have"},
		"no digest":         {`{"format": 1, "plan": {}}`, "its digest is not that of its content"},
		"another file":      {strings.Replace(string(text), `"path":"drone/`, `"path":"../drone/`, 1), "its digest is not that of its content"},
		"another count":     {strings.Replace(string(text), `"added":10`, `"added":1`, 1), "its digest is not that of its content"},
		"very deep":         {`{"format": 1, "plan": ` + strings.Repeat("[", 20000), "it is not a plan"},
		"another Git state": {strings.Replace(string(text), `"branch":"dev"`, `"branch":"main"`, 1), "its digest is not that of its content"},
	} {
		_, err := ReadSavedPlan(strings.NewReader(c.file))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// TestForgedPlanIsNotCarriedOut: a file with a right digest counts only if it says what is written anyway.
func TestForgedPlanIsNotCarriedOut(t *testing.T) {
	for name, forge := range map[string]func(*SavedPlan){
		"a file is missing":    func(p *SavedPlan) { p.Files = p.Files[1:] },
		"one more file":        func(p *SavedPlan) { p.Files = append(p.Files, SavedFile{Path: "z/../../etc/passwd", SHA256: "00"}) },
		"other content":        func(p *SavedPlan) { p.Files[0].SHA256 = strings.Repeat("0", 64) },
		"it shows less":        func(p *SavedPlan) { p.Plan = bytes.Replace(p.Plan, []byte(`"added": 10`), []byte(`"added": 1`), 1) },
		"another branch":       func(p *SavedPlan) { p.GitOps.Branch = "prod" },
		"another environment":  func(p *SavedPlan) { p.Environment = "prod" },
		"over another version": func(p *SavedPlan) { p.GitOps.Commit = strings.Repeat("a", 40) },
	} {
		plan, d := helloFleet(t, nil).save(t, DraftRequest{})
		forge(plan)
		if err := plan.Check(d); !errors.Is(err, ErrPlanChanged) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
