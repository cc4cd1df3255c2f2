package chart

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Form says what is rendered.
type Form string

// The forms of what is rendered.
const (
	FormChart         Form = "chart"
	FormKustomization Form = "kustomization"
	FormManifests     Form = "manifests"
)

// Job is everything that rendering the targets of one environment depends on. It is plain data, so that it can be
// written to a process with limits and its [Result] read back.
type Job struct {
	// Form says what Files are. Required.
	Form Form `json:"form"`
	// Files are those of the chart, its dependencies in the folder charts included; or those of the repository that a
	// kustomization or folder of manifests may need, within the bounds of [MaxFiles] and [MaxSize].
	Files []File `json:"files"`
	// Config are the values.yaml files, by the names that Target.Layers has.
	Config map[string][]byte `json:"config,omitempty"`
	// ConfigSource is how people call the repository and branch they lie in.
	ConfigSource string `json:"configSource,omitempty"`
	// Schema is the application's own schema for values; may be empty. SchemaFile is where it lies in the source.
	Schema     []byte `json:"schema,omitempty"`
	SchemaFile string `json:"schemaFile,omitempty"`
	// Vars are the variables that values may refer to.
	Vars values.Vars `json:"vars,omitempty"`
	// Targets are rendered, each for itself.
	Targets []Target `json:"targets"`
}

// Target is one target of a job.
type Target struct {
	// Name identifies the target in the result. Required.
	Name string `json:"name"`
	// Folder is the folder of the kustomization or manifests; not used for a chart.
	Folder string `json:"folder,omitempty"`
	// Layers are the values.yaml files of the target, from the root of the configuration down.
	Layers []string `json:"layers,omitempty"`
	// Set are values as with --set, SetString as with --set-string; later ones win, and texts win over the others.
	Set       []string `json:"set,omitempty"`
	SetString []string `json:"setString,omitempty"`
	// Image are values by their dotted paths, such as the tag that was built. They win over everything.
	Image map[string]string `json:"image,omitempty"`
	Options
}

// Result is what became of the targets of a job, in their order.
type Result struct {
	Targets []Rendered `json:"targets"`
}

// Rendered is one target of a result.
type Rendered struct {
	Name string `json:"name"`
	// Digest identifies everything the target was rendered from: see [Job.Digests].
	Digest string `json:"digest"`
	// Manifests are nil when there is an error among the problems.
	Manifests *Manifests `json:"manifests,omitempty"`
	// Values are the composed values as YAML with their places, Keys the same for programs. Empty without values.
	Values []byte       `json:"values,omitempty"`
	Keys   []values.Key `json:"keys,omitempty"`
	// Problems are sorted; their assignment is empty.
	Problems []fleet.Problem `json:"problems,omitempty"`
}

// ruleVersion changes when this program renders differently from the same job.
const ruleVersion = "1"

// Digests identify what each target is rendered from. Two targets with one digest are rendered alike,
// so that a result that is kept does not have to be made again.
func (j *Job) Digests() []string {
	shared := sha256.New()
	sized(shared, []byte(ruleVersion))
	for _, text := range []string{string(j.Form), Digest(j.Files), j.ConfigSource, j.SchemaFile, string(j.Schema)} {
		sized(shared, []byte(text))
	}
	for _, name := range slices.Sorted(maps.Keys(j.Vars)) {
		sized(shared, []byte(name))
		sized(shared, []byte(j.Vars[name]))
	}
	base := shared.Sum(nil)
	files := make(map[string][sha256.Size]byte, len(j.Config))
	for name, content := range j.Config {
		files[name] = sha256.Sum256(content)
	}
	digests := make([]string, len(j.Targets))
	for i, t := range j.Targets {
		h := sha256.New()
		sized(h, base)
		encoded, _ := json.Marshal(t) // texts only
		sized(h, encoded)
		for _, name := range t.Layers {
			sum := files[name]
			sized(h, sum[:])
		}
		digests[i] = "sha256:" + hex.EncodeToString(h.Sum(nil))
	}
	return digests
}

// Run renders the targets, on all cores. What previous, the result of an earlier job, has of the same inputs is taken
// from there; it may be nil, and the result does not depend on it.
func (j *Job) Run(previous *Result) *Result {
	rest, result := j.Rest(previous)
	if len(rest.Targets) > 0 {
		result.Fill(rest.render())
	}
	return result
}

// Rest returns the job without the targets that an earlier result has, and the result with those. A process that is
// given the rest makes what is missing, and [Result.Fill] puts it in. Targets that could not be rendered are tried again.
func (j *Job) Rest(previous *Result) (*Job, *Result) {
	known := map[string]Rendered{}
	if previous != nil {
		for _, r := range previous.Targets {
			if r.Manifests != nil { // what failed may have failed for want of time or memory
				known[r.Digest] = r
			}
		}
	}
	rest, result := *j, &Result{Targets: make([]Rendered, len(j.Targets))}
	rest.Targets = nil
	for i, digest := range j.Digests() {
		r, ok := known[digest]
		if !ok || r.Name != j.Targets[i].Name {
			r = Rendered{Name: j.Targets[i].Name, Digest: digest}
			rest.Targets = append(rest.Targets, j.Targets[i])
		}
		result.Targets[i] = r
	}
	return &rest, result
}

// Fill puts what was rendered of the rest of a job into the result that lacks it. A target that was not rendered at all
// gets a problem that says so.
func (r *Result) Fill(rendered *Result) {
	byName := map[string]Rendered{}
	for _, t := range rendered.Targets {
		byName[t.Name] = t
	}
	for i, t := range r.Targets {
		if t.Manifests != nil || len(t.Problems) > 0 {
			continue
		}
		made, ok := byName[t.Name]
		if !ok || made.Manifests == nil && len(made.Problems) == 0 {
			made = Rendered{Name: t.Name, Problems: []fleet.Problem{failure(errors.New("it was not rendered"))}}
		}
		made.Digest = t.Digest
		r.Targets[i] = made
	}
}

// Fail puts a problem in for every target that a result lacks: the process that was to render them did not answer.
func (r *Result) Fail(err error) {
	for i, t := range r.Targets {
		if t.Manifests == nil && len(t.Problems) == 0 {
			r.Targets[i].Problems = []fleet.Problem{failure(err)}
		}
	}
}

func failure(err error) fleet.Problem {
	return fleet.Problem{Severity: fleet.SeverityError, Kind: fleet.KindTemplateExecution, Message: err.Error(), Hint: "the target stays as it is published"}
}
