package scaffold

import (
	"bytes"
	"cmp"
	"embed"
	"io/fs"
	"path"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/repourl"
)

// Example is a built-in application or set of services: its source, and its configuration by environment.
type Example string

const (
	// ExampleApp is an application with a chart of its own.
	ExampleApp Example = "app"
	// ExampleServices are platform services: references to external charts.
	ExampleServices Example = "services"
)

// exampleFolders has the example application and the example services: their sources, and their configuration by environment.
//
//go:embed all:files/app all:files/services
var exampleFolders embed.FS

//go:embed files/app-configs.md
var configsReadme []byte

// exampleImage is the image of the example's chart.
const exampleImage = "ghcr.io/example/hello-world-app"

// SourceBranches returns the branches of an example's source, with its chart and its deployment targets. The
// application has the name of the repository's folder. With the URL of a repository on a forge with a registry, the
// chart runs the image that the workflows of [Forge] push there.
func SourceBranches(of Example, url, folder string) ([]Branch, error) {
	files, err := exampleFiles(of, "source")
	if of != ExampleApp || err != nil {
		return []Branch{{"main", files}}, err
	}
	names := namesIn(folder)
	for file, content := range files {
		files[file] = []byte(names.Replace(string(content)))
	}
	image := names.Replace(exampleImage)
	files[exampleValues] = bytes.Replace(files[exampleValues], []byte(image), []byte(cmp.Or(imageOf(url), image)), 1)
	return []Branch{{"main", files}}, err
}

// exampleName is the name of the example application.
const exampleName = "hello-world-app"

// namesIn replaces the name of the example application by that of a repository's folder, and those of its other
// repositories.
func namesIn(folder string) *strings.Replacer {
	o := NewOnboarding(Deliverable{}, folder, "", "")
	configs := strings.TrimSuffix(o.GitOps, "-gitops") + "-configs"
	return strings.NewReplacer(exampleName+"-gitops", o.GitOps, exampleName+"-configs", configs, exampleName, o.Name)
}

// exampleValues has the image of the example's chart.
const exampleValues = "helm/values.yaml"

// imageOf returns the image that workflows push for a repository; empty if its forge has no registry that is known by the URL.
func imageOf(repository string) string {
	registries := map[string]string{"github.com": "ghcr.io", "gitlab.com": "registry.gitlab.com"}
	id, _, err := repourl.Parse(repository)
	if err != nil || registries[id.Host] == "" {
		return ""
	}
	return registries[id.Host] + "/" + strings.ToLower(id.Path)
}

// ConfigBranches returns the branches of an example's configuration, one for each environment.
func ConfigBranches(of Example) ([]Branch, error) {
	var branches []Branch
	for _, environment := range exampleEnvironments {
		files, err := exampleFiles(of, path.Join("configs", environment))
		if err != nil {
			return nil, err
		}
		files["README.md"] = configsReadme
		branches = append(branches, Branch{environment, files})
	}
	return branches, nil
}

// exampleFiles returns the files in a folder of an example. Go files end in .txt, or they would belong to this module.
func exampleFiles(name Example, folder string) (map[string][]byte, error) {
	root, err := fs.Sub(exampleFolders, path.Join("files", string(name)))
	if err != nil {
		return nil, err
	}
	files, err := readFiles(root, folder)
	renamed := make(map[string][]byte, len(files))
	for at, content := range files {
		renamed[strings.TrimSuffix(at, ".txt")] = content
	}
	return renamed, err
}
