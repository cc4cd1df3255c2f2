package solution_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/solution"
)

// platform is the descriptor of a version of the platform, with the files of [files].
func platform() solution.Descriptor {
	d := descriptor()
	input := func(repository, branch string) solution.Input {
		return solution.Input{Repository: "https://git.example.com/acme/" + repository, Branch: branch, Commit: strings.Repeat("d", 40)}
	}
	d.Application, d.Release, d.Image = "", "", ""
	d.Inputs.Source, d.Inputs.Config = solution.Input{}, nil
	d.Inputs.Platform = &solution.PlatformInputs{
		Environment: input("control-plane", "dev"), Main: input("control-plane", "main"), Others: []solution.Input{input("shop", "main")},
		Kept: []string{"east/shop Kustomization flux-system/shop"},
	}
	d.Targets = []solution.Target{{Name: "clusters/west-1", Folder: "clusters/west-1", Objects: 1}, {Name: "east", Folder: "east", Objects: 1}}
	return d
}

func platformFiles() []solution.File {
	return []solution.File{
		{Path: "east/README.md", Content: []byte("# east\n")},
		{Path: "east/shop/namespace.yaml", Content: []byte("kind: Namespace\n")},
		{Path: "clusters/west-1/shop/namespace.yaml", Content: []byte("kind: Namespace\n")},
	}
}

// pinnedTo returns a descriptor of an application with a pinned target.
func pinnedTo(p *solution.Pinned) solution.Descriptor {
	d := descriptor()
	d.Targets = slices.Clone(d.Targets)
	d.Targets[0].Pinned = p
	return d
}

func revision() *solution.Pinned {
	d := descriptor()
	return &solution.Pinned{Revision: strings.Repeat("e", 40), Source: &d.Inputs.Source, Config: d.Inputs.Config, Release: "1.3.0"}
}

func TestThePlatformAndPinnedTargetsStayWhatWasSealed(t *testing.T) {
	for name, v := range map[string]*solution.Version{
		"the platform":     seal(t, platform(), platformFiles()),
		"a pinned target":  seal(t, pinnedTo(revision()), files()),
		"uninstalled":      seal(t, pinnedTo(&solution.Pinned{Uninstalled: true}), files()),
		"no configuration": seal(t, pinnedTo(&solution.Pinned{Revision: revision().Revision, Source: revision().Source}), files()),
	} {
		t.Run(name, func(t *testing.T) {
			a := artifact(t, v)
			opened, err := solution.Open(a.Manifest.Content, a.Config.Content, a.Layer.Content)
			if err != nil {
				t.Fatal(err)
			}
			if opened.Digest() != v.Digest() || opened.Title() != v.Title() || opened.IsPlatform() != v.IsPlatform() {
				t.Errorf("opened %+v, want %+v", opened.Descriptor, v.Descriptor)
			}
			if differences := solution.Compare(opened, v); len(differences) > 0 {
				t.Errorf("got %v", differences)
			}
		})
	}
}

func TestDescriptorsOfThePlatformAndOfPinsRefuse(t *testing.T) {
	change := func(d solution.Descriptor, change func(*solution.Descriptor)) solution.Descriptor {
		p := *d.Inputs.Platform
		d.Inputs.Platform, d.Targets = &p, slices.Clone(d.Targets)
		change(&d)
		return d
	}
	for name, tc := range map[string]struct {
		d    solution.Descriptor
		want string
	}{
		"an application of the platform":  {change(platform(), func(d *solution.Descriptor) { d.Application = "shop" }), "an application and of the platform"},
		"a source of the platform":        {change(platform(), func(d *solution.Descriptor) { d.Inputs.Source = d.Inputs.GitOps }), "an application and of the platform"},
		"no commit of main":               {change(platform(), func(d *solution.Descriptor) { d.Inputs.Platform.Main.Commit = "" }), "has no commit"},
		"no environment":                  {change(platform(), func(d *solution.Descriptor) { d.Inputs.Platform.Environment = solution.Input{} }), "no repository"},
		"another input without a commit":  {change(platform(), func(d *solution.Descriptor) { d.Inputs.Platform.Others = []solution.Input{{}} }), "no repository"},
		"a name that is not its folder":   {change(platform(), func(d *solution.Descriptor) { d.Targets[0].Name = "clusters/../x" }), "not a name and a folder"},
		"a pinned folder":                 {change(platform(), func(d *solution.Descriptor) { d.Targets[1].Pinned = revision() }), "the platform has no pinned targets"},
		"fewer than no findings":          {change(platform(), func(d *solution.Descriptor) { d.Checks.Omitted = map[check.Level]int{check.Refuse: -1} }), "no program left them out"},
		"findings left out for no reason": {change(platform(), func(d *solution.Descriptor) { d.Checks.Omitted = map[check.Level]int{check.Warn: 1} }), "no program left them out"},
		"a pin to nothing":                {pinnedTo(&solution.Pinned{}), "not a revision with a source"},
		"a pin without a source":          {pinnedTo(&solution.Pinned{Revision: revision().Revision}), "not a revision with a source"},
		"a pin to a branch":               {pinnedTo(&solution.Pinned{Revision: "main", Source: revision().Source}), "not a revision with a source"},
		"a source without a commit":       {pinnedTo(&solution.Pinned{Revision: revision().Revision, Source: &solution.Input{}}), "no repository"},
		"uninstalled to a revision":       {pinnedTo(&solution.Pinned{Uninstalled: true, Revision: revision().Revision}), "it is uninstalled, and has a revision"},
	} {
		t.Run(name, func(t *testing.T) {
			f := files()
			if tc.d.IsPlatform() {
				f = platformFiles()
			}
			if _, err := solution.Seal(tc.d, f); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestInputsOfPinnedTargetsDiffer: the same files from other commits are another version.
func TestInputsOfPinnedTargetsDiffer(t *testing.T) {
	other := revision()
	source := *other.Source
	source.Commit = strings.Repeat("f", 40)
	other.Source = &source
	a, b := seal(t, pinnedTo(revision()), files()), seal(t, pinnedTo(other), files())
	differences := solution.Compare(a, b)
	if len(differences) != 1 || differences[0].Field != "targets.pinned" || differences[0].Target != "east" || a.Digest() == b.Digest() {
		t.Errorf("got %v", differences)
	}
	p, q := seal(t, platform(), platformFiles()), platform()
	q.Inputs.Platform.Main.Commit = strings.Repeat("f", 40)
	if differences := solution.Compare(p, seal(t, q, platformFiles())); len(differences) != 1 || differences[0].Field != "inputs.platform.main" {
		t.Errorf("got %v", differences)
	}
	if names := p.AllInputs(); len(names) != 4 || names[0].Name != "environment" || names[3].Name != "other" {
		t.Errorf("got %v", names)
	}
}
