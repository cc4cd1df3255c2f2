package scaffold

import (
	"embed"
	"io/fs"
	"path"
	"strings"
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

// SourceBranches returns the branches of an example's source, with its chart and its deployment targets.
func SourceBranches(of Example) ([]Branch, error) {
	files, err := exampleFiles(of, "source")
	return []Branch{{"main", files}}, err
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
