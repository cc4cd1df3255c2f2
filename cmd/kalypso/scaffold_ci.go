package main

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/kalypso-io/kalypso/internal/scheduling"
)

// scaffoldCI holds the workflows as templates: a folder for each forge, and in it a file or a folder for each kind of repository.
//
//go:embed scaffold/ci
var scaffoldCI embed.FS

// goOfCI is the version of Go that workflows build Kalypso with.
const goOfCI = "1.26"

// ciTarget is what the workflows of a repository do.
type ciTarget string

const (
	ciControlPlane ciTarget = "control-plane"
	ciApp          ciTarget = "app"
	ciServices     ciTarget = "services"
	ciConfig       ciTarget = "config"
	ciGitOps       ciTarget = "gitops"
)

var ciTargets = []ciTarget{ciControlPlane, ciApp, ciServices, ciConfig, ciGitOps}

// template names the templates of a target: services are delivered like applications.
func (t ciTarget) template() string {
	if t == ciApp || t == ciServices {
		return "source"
	}
	return string(t)
}

// ciForge is where workflows run.
type ciForge struct {
	// name is the flag, and the folder of the templates.
	name, product string
	// file is what the forge looks for; empty where it runs every file of the folder.
	file, folder string
}

var ciForges = []ciForge{
	{name: "github", product: "GitHub Actions", folder: ".github/workflows"},
	{name: "gitlab", product: "GitLab CI", file: ".gitlab-ci.yml"},
	{name: "azure", product: "Azure Pipelines", file: "azure-pipelines.yml"},
}

// ciData is what the templates of workflows know.
type ciData struct {
	// Version is the version of Kalypso that workflows install, for "go install".
	Version string
	Go      string
	// Image says whether there is an image to build.
	Image bool
	// Own are the steps that belong to the team.
	Own ownSteps
	// Environments are those of a control plane, and none elsewhere.
	Environments []scheduling.EnvironmentBranch
}

// ownSteps are what an application's team runs before an image is built: commands, to be replaced by what they use.
type ownSteps struct{ Lint, Test, Scan string }

// ownStepsOf proposes steps for a repository: those of its language where it is known, else targets of a Makefile.
func ownStepsOf(repository fs.FS) ownSteps {
	if _, err := fs.Stat(repository, "go.mod"); err == nil {
		return ownSteps{"go vet ./...", "go test ./...", "go run golang.org/x/vuln/cmd/govulncheck@v1.1.4 ./..."}
	}
	return ownSteps{"make lint", "make test", "make scan"}
}

// Names returns the names of the environments.
func (d ciData) Names() []string {
	names := []string{}
	for _, e := range d.Environments {
		names = append(names, e.Environment)
	}
	return names
}

// Branches returns main and the branches of the environments, each once.
func (d ciData) Branches() []string {
	branches := []string{scheduling.DefaultBase}
	for _, e := range d.Environments {
		if !slices.Contains(branches, e.Branch) {
			branches = append(branches, e.Branch)
		}
	}
	return branches
}

// ByBranch returns the branches of environments but main, each with the environments that it describes.
func (d ciData) ByBranch() []ciBranch {
	var branches []ciBranch
	for _, name := range d.Branches()[1:] {
		b := ciBranch{Name: name}
		for _, e := range d.Environments {
			if e.Branch == name {
				b.Environments = append(b.Environments, e.Environment)
			}
		}
		branches = append(branches, b)
	}
	return branches
}

// ciBranch is a branch of a control plane.
type ciBranch struct {
	Name         string
	Environments []string
}

// plainName is what a name may consist of to be written into a workflow, whose shells and expressions have signs of their own.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/+-]*$`)

// workflows returns the files for a repository on a forge: content by path.
func (f ciForge) workflows(target ciTarget, data ciData) (map[string][]byte, error) {
	for _, name := range append(data.Branches(), append(data.Names(), data.Version)...) {
		if !plainName.MatchString(name) {
			return nil, fmt.Errorf("%q cannot be written into a workflow: it has other signs than letters, digits, and . _ / + -", name)
		}
	}
	data.Go, data.Image = goOfCI, target == ciApp
	folder := path.Join("scaffold/ci", f.name)
	names, err := fs.Glob(scaffoldCI, path.Join(folder, target.template(), "*.yml"))
	if f.file != "" {
		names, err = []string{path.Join(folder, target.template()+".yml")}, nil
	}
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, name := range names {
		to := f.file
		if to == "" {
			to = path.Join(f.folder, path.Base(name))
		}
		if files[to], err = fillWorkflow(name, path.Join(folder, "install.yml"), data); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// fillWorkflow executes a template. Its marks are square, because those of GitHub and Azure are not.
func fillWorkflow(name, install string, data ciData) ([]byte, error) {
	t := template.New(name).Delims("[[", "]]").Funcs(template.FuncMap{"yaml": flowYAML, "key": azureKey})
	for _, file := range []string{install, name} {
		text, err := fs.ReadFile(scaffoldCI, file)
		if err != nil {
			return nil, err
		}
		// What is filled in is followed by the end of the line that asks for it.
		if file == install {
			_, err = t.New(path.Base(file)).Parse(strings.TrimSuffix(string(text), "\n"))
		} else {
			_, err = t.Parse(string(text))
		}
		if err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	err := t.Execute(&out, data)
	return out.Bytes(), err
}

// azureKey makes a name one that Azure takes for a part of a matrix.
func azureKey(name string) string { return strings.NewReplacer("-", "_", ".", "_").Replace(name) }

// flowYAML writes a text or a list of texts on one line.
func flowYAML(value any) string {
	list, isList := value.([]string)
	if !isList {
		return string(yamlScalar(fmt.Sprint(value)))
	}
	var out bytes.Buffer
	for i, item := range list {
		if i > 0 {
			out.WriteString(", ")
		}
		out.Write(yamlScalar(item))
	}
	return "[" + out.String() + "]"
}
