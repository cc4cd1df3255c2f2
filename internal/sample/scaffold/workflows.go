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

// workflowFiles holds the workflow templates: a folder for each forge, and in it a file or folder for each kind of repository.
//
//go:embed files/ci
var workflowFiles embed.FS

// goOfCI is the Go version with which workflows build Kalypso.
const goOfCI = "1.26"

// Kind is the kind of a repository, which decides what its workflows do.
type Kind string

const (
	// ControlPlane checks pull requests, schedules, and promotes.
	ControlPlane Kind = "control-plane"
	// App is the source of an application: it builds an image and delivers it.
	App Kind = "app"
	// Services is the source of platform services, delivered like an application without an image.
	Services Kind = "services"
	// Config is the configuration of an application or of services.
	Config Kind = "config"
	// GitOps is what clusters pull from.
	GitOps Kind = "gitops"
)

// Kinds are all kinds.
var Kinds = []Kind{ControlPlane, App, Services, Config, GitOps}

// template returns the name of a kind's templates: services share those of applications.
func (k Kind) template() string {
	if k == App || k == Services {
		return "source"
	}
	return string(k)
}

// Forge is a forge that runs workflows.
type Forge struct {
	// Name is the flag, and the folder of the templates. Product is the name of its CI.
	Name, Product string
	// file is the one that the forge looks for; empty if it runs every file of a folder.
	file, folder string
}

// Forges are the forges with templates.
var Forges = []Forge{
	{Name: "github", Product: "GitHub Actions", folder: ".github/workflows"},
	{Name: "gitlab", Product: "GitLab CI", file: ".gitlab-ci.yml"},
	{Name: "azure", Product: "Azure Pipelines", file: "azure-pipelines.yml"},
	{Name: "bitbucket", Product: "Bitbucket Pipelines", file: "bitbucket-pipelines.yml"},
}

// Facts is the data of workflow templates.
type Facts struct {
	// Version is the Kalypso version that workflows install: a release, or a commit that is built with "go install".
	Version string
	// Go is the Go version that builds it; Image says whether there is an image to build. [Forge.Workflows] sets both.
	Go    string
	Image bool
	// Own are the team's own steps.
	Own Steps
	// Environments of a control plane; empty for other kinds.
	Environments []schedule.EnvironmentBranch
}

// Steps are placeholder commands that a team runs before an image is built.
type Steps struct {
	Lint, Test, Scan string
	// Missing are the targets of a Makefile that the steps use and that the repository does not have.
	Missing []string
}

// StepsOf returns steps for a repository: those of its language if known, else targets of a Makefile.
func StepsOf(repository fs.FS) Steps {
	if _, err := fs.Stat(repository, "go.mod"); err == nil {
		return Steps{Lint: "go vet ./...", Test: "go test ./...", Scan: "go run golang.org/x/vuln/cmd/govulncheck@v1.1.4 ./..."}
	}
	steps := Steps{Lint: "make lint", Test: "make test", Scan: "make scan"}
	makefile, _ := fs.ReadFile(repository, "Makefile") // without one, all are missing
	for _, target := range []string{"lint", "test", "scan"} {
		if !regexp.MustCompile(`(?m)^` + target + `\s*:`).Match(makefile) {
			steps.Missing = append(steps.Missing, target)
		}
	}
	return steps
}

// release matches the versions that have a release. A version of a commit ends with its time and the commit.
var release = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[a-z]+\.?[0-9]*)?$`)

// Release reports whether there are programs of this version to download.
func (d Facts) Release() bool { return release.MatchString(d.Version) }

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

// ByBranch returns the environment branches except main, each with the environments that it describes.
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

// plainName matches names without characters that shells and expressions of workflows interpret.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/+-]*$`)

// Workflows returns the files for a repository on a forge: content by path.
func (f Forge) Workflows(target Kind, data Facts) (map[string][]byte, error) {
	for _, name := range append(data.Branches(), append(data.Names(), data.Version)...) {
		if !plainName.MatchString(name) {
			return nil, fmt.Errorf("%q cannot be used in a workflow: use only letters, digits, and . _ / + -", name)
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

// fillWorkflow executes a template. Its delimiters are square, because GitHub and Azure use braces.
func fillWorkflow(name, install string, data Facts) ([]byte, error) {
	t := template.New(name).Delims("[[", "]]").Funcs(template.FuncMap{"yaml": flowYAML, "key": azureKey})
	for _, file := range []string{install, name} {
		text, err := fs.ReadFile(workflowFiles, file)
		if err != nil {
			return nil, err
		}
		// An inserted text is followed by the rest of the line.
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

// azureKey returns a name as a valid key of an Azure matrix.
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
