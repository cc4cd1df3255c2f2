package scaffold

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

	"github.com/kalypso-io/kalypso/internal/schedule"
)

// workflowFiles holds the workflows as templates: a folder for each forge, and in it a file or a folder for each kind of repository.
//
//go:embed files/ci
var workflowFiles embed.FS

// goOfCI is the version of Go that workflows build Kalypso with.
const goOfCI = "1.26"

// Kind is what a repository is, and so what its workflows do.
type Kind string

const (
	// ControlPlane checks pull requests, schedules, and promotes.
	ControlPlane Kind = "control-plane"
	// App is the source of an application, which builds an image and delivers it.
	App Kind = "app"
	// Services is the source of platform services: delivered like an application, without an image.
	Services Kind = "services"
	// Config is the configuration of an application or of services.
	Config Kind = "config"
	// GitOps is what clusters pull from.
	GitOps Kind = "gitops"
)

// Kinds are all there are.
var Kinds = []Kind{ControlPlane, App, Services, Config, GitOps}

// template names the templates of a kind: services are delivered like applications.
func (k Kind) template() string {
	if k == App || k == Services {
		return "source"
	}
	return string(k)
}

// Forge is where workflows run.
type Forge struct {
	// Name is the flag, and the folder of the templates. Product is what people call its workflows.
	Name, Product string
	// file is what the forge looks for; empty where it runs every file of the folder.
	file, folder string
}

// Forges are those that there are templates for.
var Forges = []Forge{
	{Name: "github", Product: "GitHub Actions", folder: ".github/workflows"},
	{Name: "gitlab", Product: "GitLab CI", file: ".gitlab-ci.yml"},
	{Name: "azure", Product: "Azure Pipelines", file: "azure-pipelines.yml"},
}

// Facts is what the templates of workflows know.
type Facts struct {
	// Version is the version of Kalypso that workflows install, for "go install".
	Version string
	// Go is the version of Go that builds it, and Image says whether there is an image to build; [Forge.Workflows] knows both.
	Go    string
	Image bool
	// Own are the steps that belong to the team.
	Own Steps
	// Environments are those of a control plane, and none elsewhere.
	Environments []schedule.EnvironmentBranch
}

// Steps are what an application's team runs before an image is built: commands, to be replaced by what they use.
type Steps struct{ Lint, Test, Scan string }

// StepsOf proposes steps for a repository: those of its language where it is known, else targets of a Makefile.
func StepsOf(repository fs.FS) Steps {
	if _, err := fs.Stat(repository, "go.mod"); err == nil {
		return Steps{"go vet ./...", "go test ./...", "go run golang.org/x/vuln/cmd/govulncheck@v1.1.4 ./..."}
	}
	return Steps{"make lint", "make test", "make scan"}
}

// Names returns the names of the environments.
func (d Facts) Names() []string {
	names := []string{}
	for _, e := range d.Environments {
		names = append(names, e.Environment)
	}
	return names
}

// Branches returns main and the branches of the environments, each once.
func (d Facts) Branches() []string {
	branches := []string{schedule.DefaultBase}
	for _, e := range d.Environments {
		if !slices.Contains(branches, e.Branch) {
			branches = append(branches, e.Branch)
		}
	}
	return branches
}

// ByBranch returns the branches of environments but main, each with the environments that it describes.
func (d Facts) ByBranch() []environmentBranch {
	var branches []environmentBranch
	for _, name := range d.Branches()[1:] {
		b := environmentBranch{Name: name}
		for _, e := range d.Environments {
			if e.Branch == name {
				b.Environments = append(b.Environments, e.Environment)
			}
		}
		branches = append(branches, b)
	}
	return branches
}

// environmentBranch is a branch of a control plane.
type environmentBranch struct {
	Name         string
	Environments []string
}

// plainName is what a name may consist of to be written into a workflow, whose shells and expressions have signs of their own.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/+-]*$`)

// Workflows returns the files for a repository on a forge: content by path.
func (f Forge) Workflows(target Kind, data Facts) (map[string][]byte, error) {
	for _, name := range append(data.Branches(), append(data.Names(), data.Version)...) {
		if !plainName.MatchString(name) {
			return nil, fmt.Errorf("%q cannot be written into a workflow: it has other signs than letters, digits, and . _ / + -", name)
		}
	}
	data.Go, data.Image = goOfCI, target == App
	folder := path.Join("files/ci", f.Name)
	names, err := fs.Glob(workflowFiles, path.Join(folder, target.template(), "*.yml"))
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
func fillWorkflow(name, install string, data Facts) ([]byte, error) {
	t := template.New(name).Delims("[[", "]]").Funcs(template.FuncMap{"yaml": flowYAML, "key": azureKey})
	for _, file := range []string{install, name} {
		text, err := fs.ReadFile(workflowFiles, file)
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
