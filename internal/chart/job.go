package chart

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Form is the kind of a job's files.
type Form string

// The forms.
const (
	FormChart         Form = "chart"
	FormKustomization Form = "kustomization"
	FormManifests     Form = "manifests"
)

// Job is everything that rendering the targets of one environment depends on. It is plain data, so that it can be
// sent to a process with limits, which returns its [Result].
type Job struct {
	// Form is the kind of Files. Required.
	Form Form `json:"form"`
	// Files are the files of the chart, including dependencies in its folder charts; or those of the repository that a
	// kustomization or folder of manifests may need. [MaxFiles] and [MaxSize] apply.
	Files []File `json:"files"`
	// Config maps the names in Target.Layers to contents of files with values or expressions.
	Config map[string][]byte `json:"config,omitempty"`
	// ConfigSource is the display name of their repository and branch.
	ConfigSource string `json:"configSource,omitempty"`
	// Templates are expressions of the source, by the level of the configuration that they are for: other names in Target.Layers.
	Templates map[string]File `json:"templates,omitempty"`
	// Schema is the application's own schema for values. Optional. SchemaFile is its path in the source.
	Schema     []byte `json:"schema,omitempty"`
	SchemaFile string `json:"schemaFile,omitempty"`
	// Vars are the variables that values can refer to.
	Vars values.Vars `json:"vars,omitempty"`
	// ListMade lists what the chart makes up in the results: see [Rendered].
	ListMade bool `json:"listMade,omitempty"`
	// Targets are rendered independently.
	Targets []Target `json:"targets"`
}

// Target is one target of a job.
type Target struct {
	// Name identifies the target in the result. Required.
	Name string `json:"name"`
	// Folder is the folder of the kustomization or manifests; not used for a chart.
	Folder string `json:"folder,omitempty"`
	// Layers are the layers of the target's values, from the root of the configuration down.
	Layers []string `json:"layers,omitempty"`
	// Facts are what expressions in the layers can read; nil if there are none.
	Facts *values.Facts `json:"facts,omitempty"`
	// Set are values as for --set, SetString as for --set-string. Later ones take precedence, and SetString over Set.
	Set       []string `json:"set,omitempty"`
	SetString []string `json:"setString,omitempty"`
	// Data are the values as YAML, used unchanged instead of Layers, Set, SetString and Image. Optional.
	Data []byte `json:"data,omitempty"`
	// LoadOnly loads the chart and renders nothing.
	LoadOnly bool `json:"loadOnly,omitempty"`
	// Image are values by their dotted paths, such as the tag that was built. They take precedence over all others.
	Image map[string]string `json:"image,omitempty"`
	// Versions are the paths in Image that hold the version. The manifests must depend on them.
	Versions []string `json:"versions,omitempty"`
	// Built are the images that must be in the manifests. In a kustomization and in plain manifests, they replace
	// other builds of the same images.
	Built []Built `json:"built,omitempty"`
	Options
}

// DefaultKubernetes is the version of Kubernetes that charts see unless the environment sets another. It is that of
// the schemas in package check.
const DefaultKubernetes = "v1.36.0"

// Options are what a chart sees besides its values.
type Options struct {
	// Release is the name of the release. Required.
	Release string `json:"release"`
	// Namespace is the namespace that templates see. Optional, since reconcilers set it.
	Namespace string `json:"namespace,omitempty"`
	// Kubernetes is what templates see of the clusters.
	Kubernetes app.Kubernetes `json:"kubernetes,omitzero"`
	// Secrets say where the values come from that the chart would make up.
	Secrets []app.ChartSecret `json:"secrets,omitempty"`
}

// Result is the result for each target of a job, in their order.
type Result struct {
	Targets []Rendered `json:"targets"`
}

// Rendered is one target of a result.
type Rendered struct {
	Name string `json:"name"`
	// Digest identifies everything the target was rendered from: see [Job.Digests].
	Digest string `json:"digest"`
	// Manifests is nil if there is an error among the problems.
	Manifests *Manifests `json:"manifests,omitempty"`
	// Values are the composed values as YAML with their origins, Keys the same as data. Empty without values.
	Values []byte       `json:"values,omitempty"`
	Keys   []values.Key `json:"keys,omitempty"`
	// Vars are the names of the variables that the values refer to, sorted.
	Vars []string `json:"vars,omitempty"`
	// Idle are the values of Set and SetString without effect on the manifests.
	Idle []Idle `json:"idle,omitempty"`
	// Made are the objects with values that the chart makes up, if the job wants the list.
	Made []Made `json:"made,omitempty"`
	// Problems are sorted. Their assignment is empty.
	Problems []fleet.Problem `json:"problems,omitempty"`

	// Unsettled reports that the process that should render the target failed for a reason that may not be the target's,
	// so that another attempt can succeed. See [Result.Fail].
	Unsettled bool `json:"-"`
}

// Idle is a value that was set for the rendering and changes nothing in the manifests.
type Idle struct {
	// Path is the path of the value.
	Path string `json:"path"`
	// Unknown reports that neither the values nor the templates of the chart have the key, so that it is probably misspelled.
	Unknown bool `json:"unknown,omitempty"`
}

// LimitError is the error of a process that reached one of its limits.
type LimitError struct {
	// Message says which limit, and what to look for.
	Message string
}

// Error returns the message.
func (e *LimitError) Error() string { return e.Message }

// ruleVersion changes when a new version of this program renders the same job differently.
const ruleVersion = "3"

// Digests identifies the inputs of each target. Targets with equal digests render the same,
// so a stored result can be reused.
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
	if j.ListMade {
		sized(shared, []byte("made"))
	}
	base := shared.Sum(nil)
	files := make(map[string][sha256.Size]byte, len(j.Config))
	for name, content := range j.Config {
		files[name] = sha256.Sum256(content)
	}
	for name, f := range j.Templates {
		files[name] = sha256.Sum256([]byte(Digest([]File{f})))
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

// Rest returns the job without the targets in an earlier result, and a result with those. A process renders the
// rest, and [Result.Fill] adds it. Targets that could not be rendered are tried again.
func (j *Job) Rest(previous *Result) (*Job, *Result) {
	known := map[string]Rendered{}
	if previous != nil {
		for _, r := range previous.Targets {
			if r.Manifests != nil { // a failure may be due to a lack of time or memory
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

// Fill adds the rendered rest of a job to the result that lacks it. A target that was not rendered
// gets a problem.
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
			made = Rendered{Name: t.Name, Problems: []fleet.Problem{Failure(errors.New("it was not rendered"))}}
		}
		made.Digest = t.Digest
		r.Targets[i] = made
	}
}

// Fail adds a problem for every target that a result lacks, when the process that should render them failed.
// They are unsettled unless err is a [LimitError].
func (r *Result) Fail(err error) {
	var limit *LimitError
	settled := errors.As(err, &limit)
	for i, t := range r.Targets {
		if t.Manifests == nil && len(t.Problems) == 0 {
			r.Targets[i].Problems, r.Targets[i].Unsettled = []fleet.Problem{Failure(err)}, !settled
		}
	}
}

// Failure is the problem of a target that cannot be rendered.
func Failure(err error) fleet.Problem {
	return fleet.Problem{Severity: fleet.SeverityError, Kind: fleet.KindTemplateExecution, Message: err.Error(), Hint: "the target stays as published"}
}
