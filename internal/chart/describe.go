package chart

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"

	"github.com/Masterminds/semver/v3"
	"sigs.k8s.io/yaml"
)

// Description is what a chart declares: its name and version, and the charts that it depends on.
type Description struct {
	Name, Version string
	// Dependencies are those in Chart.yaml, with the versions of Chart.lock if there is one.
	Dependencies []Dependency
	// Missing are the dependencies that are not in the folder charts.
	Missing []Dependency
}

// Dependency is a chart that another chart depends on.
type Dependency struct {
	Name string `json:"name"`
	// Version is the locked version, or else the version range.
	Version string `json:"version"`
	// Repository is a URL, "file://" and a path, or empty for a chart in the folder charts.
	Repository string `json:"repository,omitempty"`
}

// declared is the part of Chart.yaml, requirements.yaml and the lock files that is read.
type declared struct {
	Name         string        `json:"name"`
	Version      string        `json:"version"`
	Dependencies []*Dependency `json:"dependencies"`
}

// Describe reads what a chart declares from its files, with paths relative to the folder of Chart.yaml. It reads nothing else of the
// chart, so a chart that can be described may still be refused when it is rendered.
func Describe(files []File) (*Description, error) {
	files, err := Checked(files)
	if err != nil {
		return nil, err
	}
	own, err := declaration(files, "Chart.yaml", "requirements.yaml")
	switch {
	case err != nil:
		return nil, err
	case own == nil:
		return nil, errors.New("there is no Chart.yaml")
	case own.Name == "" || path.Base(own.Name) != own.Name || own.Name == "." || own.Name == ".." || strings.ContainsFunc(own.Name, unicode.IsControl):
		return nil, fmt.Errorf("read Chart.yaml: %q is not the name of a chart", own.Name)
	}
	if _, err := semver.NewVersion(own.Version); err != nil {
		return nil, fmt.Errorf("read Chart.yaml: %q is not a version: %w", own.Version, err)
	}
	lock, err := declaration(files, "Chart.lock", "requirements.lock")
	if err != nil {
		return nil, err
	}
	included, err := included(files)
	if err != nil {
		return nil, err
	}
	d := &Description{Name: own.Name, Version: own.Version}
	for _, wanted := range own.Dependencies {
		if wanted == nil {
			return nil, fmt.Errorf("a dependency of chart %q is empty", own.Name)
		}
		resolved := Dependency{Name: wanted.Name, Version: lock.version(wanted), Repository: wanted.Repository}
		d.Dependencies = append(d.Dependencies, resolved)
		if !included.has(wanted) {
			d.Missing = append(d.Missing, resolved)
		}
	}
	return d, nil
}

// declaration reads files of which a later one takes precedence. It returns nil if there is none.
func declaration(files []File, names ...string) (*declared, error) {
	var d *declared
	for _, name := range names {
		for _, f := range files {
			if f.Path != name {
				continue
			}
			if d == nil {
				d = &declared{}
			}
			if err := yaml.Unmarshal(bytes.TrimPrefix(f.Content, []byte("\ufeff")), d); err != nil {
				return nil, fmt.Errorf("read %s: %w", name, plain(err))
			}
		}
	}
	return d, nil
}

// version returns the locked version of a dependency, or else its own.
func (lock *declared) version(of *Dependency) string {
	version := of.Version
	if lock == nil {
		return version
	}
	for _, d := range lock.Dependencies {
		if d != nil && d.Name == of.Name && d.Repository == of.Repository {
			version = d.Version
		}
	}
	return version
}

// charts are the charts in the folder charts of another one.
type charts []*declared

// has reports whether a dependency is among them, in a version that it allows.
func (c charts) has(d *Dependency) bool {
	allowed, err := semver.NewConstraint(d.Version)
	if err != nil {
		return false
	}
	for _, have := range c {
		if version, err := semver.NewVersion(have.Version); err == nil && have.Name == d.Name && allowed.Check(version) {
			return true
		}
	}
	return false
}

// included reads the charts in the folder charts, which are folders or archives.
func included(files []File) (charts, error) {
	var all charts
	size := 0
	for _, f := range files {
		below, found := strings.CutPrefix(f.Path, "charts/")
		name, file, _ := strings.Cut(below, "/")
		if !found || strings.IndexAny(name, "_.") == 0 {
			continue
		}
		content := []File{{Path: file, Content: f.Content}}
		if file == "" && path.Ext(name) == ".tgz" {
			var err error
			if content, err = Unpack(f.Content); err != nil {
				return nil, fmt.Errorf("unpack %q: %w", f.Path, err)
			}
			for _, in := range content {
				size += len(in.Content)
			}
			if size > MaxSize {
				return nil, fmt.Errorf("the archives in the folder charts have more than the %d bytes that are read", MaxSize)
			}
		}
		d, err := declaration(content, "Chart.yaml")
		if err != nil {
			return nil, fmt.Errorf("chart in %q: %w", f.Path, err)
		}
		if d != nil {
			all = append(all, d)
		}
	}
	return all, nil
}
