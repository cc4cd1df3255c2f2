package solution

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
)

// FormatVersion is the version of the descriptor's format, and the only one that is read.
const FormatVersion = 1

// Descriptor says what a version is, and what it was made from.
type Descriptor struct {
	FormatVersion int `json:"formatVersion"`
	// Application is empty for a version of the platform.
	Application string `json:"application,omitempty"`
	Environment string `json:"environment"`
	// Workspace is the owner of the application; empty if unknown.
	Workspace string `json:"workspace,omitempty"`
	// Release is what people call the source commit, such as 1.4.0; Image is the image that was built from it. Both are optional.
	Release string `json:"release,omitempty"`
	Image   string `json:"image,omitempty"`
	// Merged is the time of the GitOps commit.
	Merged     time.Time  `json:"merged"`
	Inputs     Inputs     `json:"inputs"`
	Parameters Parameters `json:"parameters"`
	// Targets are sorted by name.
	Targets []Target `json:"targets"`
	// Schema is the file with the schema of the values; empty if the application has none.
	Schema   string   `json:"schema,omitempty"`
	Checks   Checks   `json:"checks"`
	Content  Content  `json:"content"`
	Renderer Renderer `json:"renderer"`
}

// Inputs are the commits that a version was made from.
type Inputs struct {
	// Source is that of an application; zero for the platform.
	Source Input `json:"source,omitzero"`
	// Config is nil for an application without configuration, and for the platform.
	Config *Input `json:"config,omitempty"`
	// Platform are those of the platform; nil for an application.
	Platform *PlatformInputs `json:"platform,omitempty"`
	// GitOps is the merged commit.
	GitOps Input `json:"gitops"`
}

// PlatformInputs are the commits that a version of the platform was made from. What the GitOps branch had before is an input as well: decisions
// prefer what is published, and it has the answers of external schedulers.
type PlatformInputs struct {
	// Environment is the environment's branch of the control plane, Main the promoted commit.
	Environment Input `json:"environment"`
	Main        Input `json:"main"`
	// Others are repositories of configuration and of workloads, sorted by repository and branch.
	Others []Input `json:"others,omitempty"`
	// Kept are objects of reconcilers that others took over from, and that the GitOps branch keeps, as "FOLDER/TARGET KIND NAMESPACE/NAME". The
	// other inputs do not render them.
	Kept []string `json:"kept,omitempty"`
}

// NamedInput is an input with the name of its role.
type NamedInput struct {
	Name string
	Input
}

// All returns all inputs.
func (i Inputs) All() []NamedInput {
	p := i.Platform
	if p == nil {
		all := []NamedInput{{"source", i.Source}, {"gitops", i.GitOps}}
		if i.Config != nil {
			all = append(all, NamedInput{"config", *i.Config})
		}
		return all
	}
	all := []NamedInput{{"environment", p.Environment}, {"main", p.Main}, {"gitops", i.GitOps}}
	for _, other := range p.Others {
		all = append(all, NamedInput{"other", other})
	}
	return all
}

// AllInputs returns all inputs, also those of pinned targets, each once.
func (d *Descriptor) AllInputs() []NamedInput {
	all := d.Inputs.All()
	add := func(name string, i *Input) {
		if i != nil && !slices.ContainsFunc(all, func(known NamedInput) bool { return known.Input == *i }) {
			all = append(all, NamedInput{name, *i})
		}
	}
	for _, t := range d.Targets {
		if t.Pinned != nil {
			add("source of "+t.Name, t.Pinned.Source)
			add("config of "+t.Name, t.Pinned.Config)
		}
	}
	return all
}

// IsPlatform reports whether it is a version of the platform: of what the platform team's control plane renders for an environment.
func (d *Descriptor) IsPlatform() bool { return d.Inputs.Platform != nil }

// Title names what the version is of: "shop for dev".
func (d *Descriptor) Title() string {
	if d.IsPlatform() {
		return "platform for " + d.Environment
	}
	return d.Application + " for " + d.Environment
}

// Input is a commit of a branch.
type Input struct {
	Repository string `json:"repository"`
	Branch     string `json:"branch"`
	// Path is the folder in the repository; empty for its root.
	Path   string `json:"path,omitempty"`
	Commit string `json:"commit"`
}

// String returns the input in short form: "https://github.com/acme/shop@3f2a9c1".
func (i Input) String() string { return i.Repository + "@" + i.Commit[:min(7, len(i.Commit))] }

// Parameters are the inputs that are not in the commits.
type Parameters struct {
	// Kubernetes describes the clusters to charts, as the head of the source did.
	Kubernetes app.Kubernetes `json:"kubernetes"`
	// Set and SetString are values in Helm's syntax. Vars are the variables that values referred to.
	Set       []string          `json:"set,omitempty"`
	SetString []string          `json:"setString,omitempty"`
	Vars      map[string]string `json:"vars,omitempty"`
}

// Target is a deployment target of the environment.
type Target struct {
	Name string `json:"name"`
	// Folder is the folder of its manifests in the content, the path for Flux and Argo CD.
	Folder string `json:"folder"`
	// Digest is the [ContentDigest] of the files of the folder, and of those that belong to the target in .kalypso.
	Digest string `json:"digest"`
	// Objects counts the manifests.
	Objects int      `json:"objects"`
	Images  []string `json:"images,omitempty"`
	// Pinned says where the files of a pinned target are from; nil for one that follows its environment.
	Pinned *Pinned `json:"pinned,omitempty"`
}

// Pinned is what a pinned target has instead of what the inputs of the version render.
type Pinned struct {
	// Revision is the commit of the GitOps branch whose files the target has; empty for one that is uninstalled.
	Revision string `json:"revision,omitempty"`
	// Uninstalled means that it has no objects.
	Uninstalled bool `json:"uninstalled,omitempty"`
	// Source and Config are the commits that the revision was made from, Release and Image its build. They are absent for one that is uninstalled.
	Source  *Input `json:"source,omitempty"`
	Config  *Input `json:"config,omitempty"`
	Release string `json:"release,omitempty"`
	Image   string `json:"image,omitempty"`
}

// String says what the target has, on one line.
func (p *Pinned) String() string {
	switch {
	case p == nil:
		return "follows its environment"
	case p.Uninstalled:
		return "uninstalled"
	case p.Source == nil:
		return "pinned to " + p.Revision
	}
	text := fmt.Sprintf("pinned to %.7s, made from %s", p.Revision, p.Source)
	if p.Config != nil {
		text += " and " + p.Config.String()
	}
	if p.Release != "" {
		text += ", " + p.Release
	}
	return text
}

// check reports a pin that no program wrote.
func (p *Pinned) check() error {
	if p.Uninstalled {
		if *p != (Pinned{Uninstalled: true}) {
			return errors.New("it is uninstalled, and has a revision")
		}
		return nil
	}
	if !isCommit(p.Revision) || p.Source == nil {
		return fmt.Errorf("%.100q is not a revision with a source", p.Revision)
	}
	for _, i := range []*Input{p.Source, p.Config} {
		if i != nil {
			if err := i.check(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Content identifies the files.
type Content struct {
	// Digest is the [ContentDigest] of all files.
	Digest string `json:"digest"`
	Files  int    `json:"files"`
	// Bytes is the total size of the files.
	Bytes int64 `json:"bytes"`
}

// Renderer is the program that made the version.
type Renderer struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// encode returns the descriptor as it is stored.
func (d *Descriptor) encode() ([]byte, error) {
	text, err := json.MarshalIndent(d, "", "  ")
	return append(text, '\n'), err
}

// Digest identifies the version.
func (d *Descriptor) Digest() string {
	text, err := d.encode()
	if err != nil {
		return ""
	}
	return digest.FromBytes(text).String()
}

// ReadDescriptor parses the descriptor of a version. It accepts only what [Descriptor.encode] writes, so that nothing in it is left out of comparisons.
func ReadDescriptor(text []byte) (*Descriptor, error) {
	var head struct {
		FormatVersion int `json:"formatVersion"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	if head.FormatVersion != FormatVersion {
		return nil, fmt.Errorf("its format has version %d; this program reads version %d", head.FormatVersion, FormatVersion)
	}
	d := &Descriptor{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(d); err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("parse: there is text after the object")
	}
	if again, err := d.encode(); err != nil || !bytes.Equal(again, text) {
		return nil, errors.New("it is not written as Kalypso writes it")
	}
	return d, d.check()
}

// check reports a descriptor that no program wrote for a version.
func (d *Descriptor) check() error {
	if !d.IsPlatform() && !plainName(d.Application) || !plainName(d.Environment) {
		return fmt.Errorf("application %.100q, environment %.100q: not names", d.Application, d.Environment)
	}
	if d.IsPlatform() && (d.Application != "" || d.Inputs.Source != Input{} || d.Inputs.Config != nil) {
		return errors.New("it is a version of an application and of the platform")
	}
	for _, i := range d.Inputs.All() {
		if err := i.check(); err != nil {
			return err
		}
	}
	for _, t := range d.Targets {
		if t.Pinned == nil {
			continue
		}
		if d.IsPlatform() {
			return fmt.Errorf("target %q: the platform has no pinned targets", t.Name)
		}
		if err := t.Pinned.check(); err != nil {
			return fmt.Errorf("target %q: %w", t.Name, err)
		}
	}
	if d.Checks.Policy != PolicyBuiltIn && d.Checks.Policy != PolicyPlatform {
		return fmt.Errorf("the policy %.100q of its checks is unknown", d.Checks.Policy)
	}
	for level, n := range d.Checks.Omitted {
		if n <= 0 || level.Severity() < 0 || len(d.Checks.Findings) != MaxFindings {
			return fmt.Errorf("%d omitted findings of level %.100q beside %d others: no program left them out", n, level, len(d.Checks.Findings))
		}
	}
	for i, t := range d.Targets {
		if !plainName(t.Name) && (!d.IsPlatform() || t.Name != t.Folder) || checkPath(t.Folder) != nil || t.Folder == ownFolder || strings.HasPrefix(t.Folder, ownFolder+"/") {
			return fmt.Errorf("target %.100q in folder %.100q: not a name and a folder", t.Name, t.Folder)
		}
		if i > 0 && d.Targets[i-1].Name >= t.Name {
			return fmt.Errorf("target %q: targets are not sorted, or not unique", t.Name)
		}
	}
	if len(d.Targets) == 0 {
		return errors.New("it has no targets")
	}
	return nil
}

// check reports an input that names no commit, or has characters that no repository or branch has.
func (i Input) check() error {
	for _, text := range []string{i.Repository, i.Branch, i.Path} {
		if len(text) > maxPath || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return fmt.Errorf("the input %.100q is not a branch of a repository", text)
		}
	}
	if i.Repository == "" || i.Branch == "" {
		return errors.New("an input has no repository or branch")
	}
	if !isCommit(i.Commit) {
		return fmt.Errorf("the input %.100q has no commit", i.Repository)
	}
	return nil
}

func isCommit(text string) bool {
	return len(text) == 40 && strings.Trim(text, "0123456789abcdef") == ""
}

// plainName reports whether a text can be a name of a Kubernetes object.
func plainName(name string) bool {
	return name != "" && len(name) <= 253 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") == "" && strings.Trim(name[:1], "-.") != ""
}

// owner returns a function that returns the target of a file; empty for the schema, which belongs to all. ok is false for a file that no version has.
func (d *Descriptor) owner() func(file string) (target string, ok bool) {
	folders := make(map[string]string, 2*len(d.Targets))
	for _, t := range d.Targets {
		folders[t.Folder], folders[ownFolder+"/"+t.Name] = t.Name, t.Name
	}
	return func(file string) (string, bool) {
		for folder := path.Dir(file); folder != "."; folder = path.Dir(folder) {
			if target, ok := folders[folder]; ok {
				return target, true
			}
		}
		return "", file == SchemaFile
	}
}

// Target returns the target of a name.
func (d *Descriptor) Target(name string) (Target, bool) {
	i := slices.IndexFunc(d.Targets, func(t Target) bool { return t.Name == name })
	if i < 0 {
		return Target{}, false
	}
	return d.Targets[i], true
}
