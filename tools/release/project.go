package main

import (
	"fmt"
	"slices"
	"strings"
)

// Project is what is released.
type Project struct {
	Source   string // the URL of its repository
	Licenses string // an SPDX expression
	Programs []Program
	Chart    string   // the folder of the Helm chart; empty if there is none
	Title    string   // of the documentation site; empty if there is none
	Files    []string // put into each archive
	// LicenseFiles are licenses and notices of the project and of its files. Each archive and image has them, and those of all linked modules.
	LicenseFiles []string
}

// Program is one program of a release.
type Program struct {
	Name      string
	Package   string // relative to the repository
	About     string
	Platforms []Platform
	// Plugin is another name under which archives have the program; optional.
	Plugin string
	// Image is set if there is a container image of the program, for its Linux platforms.
	Image bool
}

var (
	servers = []Platform{{OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm64"}}
	desktop = []Platform{{OS: "darwin", Arch: "amd64"}, {OS: "darwin", Arch: "arm64"}, {OS: "windows", Arch: "amd64"}}
	edge    = []Platform{{OS: "linux", Arch: "arm", Variant: "v7"}}
)

var kalypso = Project{
	Source: "https://github.com/kalypso-io/kalypso", Licenses: "Apache-2.0",
	Programs: []Program{
		{
			Name: "kalypso", Package: "./cmd/kalypso", Plugin: "kubectl-kalypso", Image: true,
			About: "Runs many applications on many Kubernetes clusters through Git", Platforms: slices.Concat(servers, desktop),
		},
		{
			Name: "kalypso-agent", Package: "./cmd/kalypso-agent", Image: true,
			About: "Reports to a Kalypso server what a cluster runs", Platforms: slices.Concat(servers, edge),
		},
		{
			Name: "kalypso-operator", Package: "./cmd/kalypso-operator", Image: true,
			About: "Schedules the control planes that objects of a Kubernetes cluster describe", Platforms: servers,
		},
	},
	Chart: "charts/kalypso", Title: "Kalypso",
	Files: []string{"README.md", "CHANGELOG.md"}, LicenseFiles: []string{
		"LICENSE", "NOTICE", "internal/text/look/files/inter-license.txt", "internal/text/look/files/mono-license.txt",
		"internal/check/patterns.json.LICENSE",
	},
}

// Platform is what a program is built for, in the words of Go and of OCI images.
type Platform struct{ OS, Arch, Variant string }

// String returns a platform as in "linux/arm/v7".
func (p Platform) String() string {
	return strings.TrimSuffix(p.OS+"/"+p.Arch+"/"+p.Variant, "/")
}

func (p Platform) suffix() string {
	return p.OS + "_" + p.Arch + p.Variant
}

// environment has the variables of Go for a platform.
func (p Platform) environment() []string {
	env := []string{"GOOS=" + p.OS, "GOARCH=" + p.Arch}
	if p.Arch == "arm" {
		env = append(env, "GOARM="+strings.TrimPrefix(p.Variant, "v"))
	}
	return env
}

func allPlatforms(programs []Program) []string {
	var all []string
	for _, program := range programs {
		for _, platform := range program.Platforms {
			if !slices.Contains(all, platform.String()) {
				all = append(all, platform.String())
			}
		}
	}
	return all
}

func parsePlatforms(list string) ([]Platform, error) {
	var platforms []Platform
	for name := range strings.SplitSeq(list, ",") {
		parts := strings.Split(name, "/")
		if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
			return nil, fmt.Errorf("%q is not a platform: write it like linux/amd64 or linux/arm/v7", name)
		}
		p := Platform{OS: parts[0], Arch: parts[1]}
		if len(parts) == 3 {
			p.Variant = parts[2]
		}
		if !slices.Contains(platforms, p) {
			platforms = append(platforms, p)
		}
	}
	return platforms, nil
}
