package scaffold

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// Limits of detection.
const (
	maxFiles    = 5000
	maxFileSize = 1 << 20
)

// kindsOfRepositories maps the kind of a document to the kind of repository that contains it.
var kindsOfRepositories = map[string]Kind{
	"Environment": ControlPlane, "WorkloadRegistration": ControlPlane, "ClusterType": ControlPlane, "SchedulingPolicy": ControlPlane,
	"Workload": App, "Delivery": App,
}

var (
	kindLine     = regexp.MustCompile(`(?m)^kind:\s*["']?(\w+)`)
	servicesLine = regexp.MustCompile(`(?m)^  services:`)
)

// Detect returns the kind of a repository by its files; empty if unknown.
// A control plane can contain applications, and an application charts: the outermost kind wins.
func Detect(repository fs.FS) (Kind, error) {
	found := map[Kind]bool{}
	checked := 0
	err := fs.WalkDir(repository, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return checkFolder(name, found)
		case checked >= maxFiles:
			return fs.SkipAll
		}
		checked++
		return checkFile(repository, name, entry, found)
	})
	for _, target := range []Kind{GitOps, ControlPlane, Services, App, Config} {
		if found[target] {
			return target, err
		}
	}
	return "", err
}

// checkFolder reports whether a folder is searched, and the kind that its name implies.
func checkFolder(name string, found map[Kind]bool) error {
	switch path.Base(name) {
	case ".kalypso":
		found[GitOps] = true
		return fs.SkipDir
	case ".git", ".github", "node_modules", "vendor":
		return fs.SkipDir
	}
	return nil
}

func checkFile(repository fs.FS, name string, entry fs.DirEntry, found map[Kind]bool) error {
	if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" || !entry.Type().IsRegular() {
		return nil
	}
	if path.Base(name) == "values.yaml" {
		found[Config] = true // of an application, unless there is more
	}
	info, err := entry.Info()
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() > maxFileSize {
		return nil
	} else if err != nil {
		return err
	}
	text, err := fs.ReadFile(repository, name)
	if err != nil {
		return err
	}
	for _, kind := range kindLine.FindAllStringSubmatch(string(text), -1) {
		if target, ok := kindsOfRepositories[kind[1]]; ok {
			found[target] = true
			found[Services] = found[Services] || kind[1] == "Delivery" && servicesLine.Match(text)
		}
	}
	// The list of services of the original: services/<name>.yaml with a chart in each.
	if strings.HasPrefix(name, "services/") && strings.Contains(string(text), "\nhelm:") {
		found[Services] = true
	}
	return nil
}
