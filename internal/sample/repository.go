package sample

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	hellofleet "github.com/kalypso-io/kalypso/examples/hello-fleet"
)

// Repository is the initial content of a repository.
type Repository struct {
	// Name has no prefix, such as [ControlPlane].
	Name        string
	Team        Team
	Description string
	// URL is its address; Owner and Slug are the parts of the path.
	URL, Owner, Slug string
	// Branches are created in order. The first is the default branch.
	Branches []Branch
}

// Branch is a branch with one commit.
type Branch struct {
	Name string
	// Files are contents by path. [CommitOfMain] in them is replaced by the commit of the repository's first branch.
	Files map[string][]byte
	// Protected branches change only through pull requests, with these checks.
	Protected bool
	Checks    []string
}

// CommitOfMain is a placeholder in files for a commit that is not known before they are written.
const CommitOfMain = "COMMIT-OF-MAIN"

// Additions and changes to the example fleet: repository/branch/path, or repository/path for all branches.
//
//go:embed all:repositories
var files embed.FS

// Environments are the sample's environments, in the order of promotion.
func Environments() []string { return []string{"dev", "stage"} }

// Repositories returns the initial content of the sample's repositories: the example fleet, with real applications
// and promotion.
func Repositories(at Site) ([]Repository, error) {
	both := Environments()
	all := []Repository{
		{Name: ControlPlane, Description: "Where workloads run, and with which configuration", Branches: branches(append([]string{"main"}, both...)...)},
		{Name: GitOps, Description: "What clusters run: generated", Branches: protected("kalypso/checks", "kalypso/deletions")},
		{Name: Services, Description: "The services of the platform", Branches: branches("main")},
		{Name: ServicesGitOps, Description: "The manifests of the services", Branches: branches(both...)},
		{Name: App, Description: "The source of hello-world-app", Branches: branches("main")},
		{Name: AppConfigs, Description: "The configuration of hello-world-app", Branches: branches(both...)},
		{Name: AppGitOps, Description: "The manifests of hello-world-app: generated", Branches: protected()},
	}
	for i := range all {
		r := &all[i]
		r.Team, r.URL, r.Owner, r.Slug = teamOf(r.Name), at.Repository(r.Name), at.owner(r.Name), at.name(r.Name)
		for j := range r.Branches {
			if err := r.Branches[j].fill(r.Name, at); err != nil {
				return nil, fmt.Errorf("create branch %q of %s: %w", r.Branches[j].Name, r.Name, err)
			}
		}
	}
	return all, nil
}

func branches(names ...string) []Branch {
	var all []Branch
	for _, name := range names {
		all = append(all, Branch{Name: name})
	}
	return all
}

func protected(checks ...string) []Branch {
	all := branches(Environments()...)
	for i := range all {
		all[i].Protected, all[i].Checks = true, checks
	}
	return all
}

// fill adds the files of a branch: those of the example fleet, then those of the sample.
func (b *Branch) fill(repository string, at Site) error {
	b.Files = map[string][]byte{}
	own := path.Join("repositories", repository)
	if err := b.add(hellofleet.Files(), path.Join(repository, b.Name), at); err != nil {
		return err
	}
	if repository == ControlPlane && b.Name == "main" && at.Secret != "" {
		b.Files["grants.yaml"] = at.grants()
	}
	if _, err := fs.Stat(files, path.Join(own, b.Name)); err == nil {
		return b.add(files, path.Join(own, b.Name), at)
	}
	return b.add(files, own, at)
}

// add adds the files below a folder, if it exists.
func (b *Branch) add(from fs.FS, folder string, at Site) error {
	if _, err := fs.Stat(from, folder); err != nil {
		return nil //nolint:nilerr // not all have files of their own
	}
	return fs.WalkDir(from, folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file := strings.TrimPrefix(name, folder+"/")
		if at.WithoutApp && onboardsApp(file) {
			return nil
		}
		content, err := fs.ReadFile(from, name)
		b.Files[file] = at.adapt(place(content, at))
		return err
	})
}

// onboardsApp reports whether a file of the control plane is the registration of the application, or one of its scheduling policies.
func onboardsApp(file string) bool {
	return file == "workloads/"+App+".yaml" || strings.HasPrefix(file, "scheduling/"+string(Kaizen)+"/")
}

// The example names repositories relative to the control plane, "." for itself, and at addresses that do not exist.
var (
	relativeRepository = regexp.MustCompile(`(?m)^(\s*repo: )(\.\./)?([\w.-]+?)([ \t]+#.*)?$`)
	exampleRepository  = regexp.MustCompile(`https://github\.com/example/([\w-]+)`)
)

// place replaces the names in the example by the URLs of a site.
func place(content []byte, at Site) []byte {
	content = relativeRepository.ReplaceAllFunc(content, func(line []byte) []byte {
		m := relativeRepository.FindSubmatch(line)
		name := string(m[3])
		switch {
		case name == "." && len(m[2]) == 0:
			name = ControlPlane
		case len(m[2]) == 0:
			return line
		}
		return append(bytes.Clone(m[1]), at.Repository(name)...)
	})
	return exampleRepository.ReplaceAllFunc(content, func(url []byte) []byte {
		return []byte(at.Repository(string(exampleRepository.FindSubmatch(url)[1])))
	})
}
