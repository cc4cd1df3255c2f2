package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/sample/scaffold"
)

// initExistingApp adds a Workload and a Delivery to a work tree that has an application.
type initExistingApp struct {
	t *terminal.Terminal
	// chosen has the flag of each form: the folder that is delivered; empty to look for one.
	chosen map[scaffold.Form]*string
}

func (c *initExistingApp) bind(cmd *cobra.Command) {
	for form, usage := range map[scaffold.Form]string{
		scaffold.Chart:         "deliver the chart in this `folder` of an existing DIR",
		scaffold.Kustomization: "deliver the kustomization in this `folder` of an existing DIR",
		scaffold.Manifests:     "deliver the plain manifests in this `folder` of an existing DIR",
	} {
		c.chosen[form] = cmd.Flags().String(string(form), "", usage)
		_ = cmd.MarkFlagDirname(string(form)) // the error only says that the flag does not exist
	}
}

// flags is how many flags choose what is delivered.
func (c *initExistingApp) flags() int {
	given := 0
	for _, folder := range c.chosen {
		if *folder != "" {
			given++
		}
	}
	return given
}

// workTree is a folder with files in a work tree of Git.
type workTree struct {
	// dir is the folder; top is the root of the work tree, and below the path from there; empty for the root itself.
	dir, top, below string
}

// findWorkTree returns the work tree of a folder. ok is false if the folder is empty, does not exist, or is not in a work tree.
func findWorkTree(dir string) (at workTree, ok bool) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return at, false
	}
	absolute, err := filepath.Abs(dir)
	if err == nil {
		at.dir, err = filepath.EvalSymlinks(absolute)
	}
	if err == nil {
		at.top, err = git.Discover(at.dir)
	}
	if err == nil {
		_, err = os.Lstat(filepath.Join(at.top, ".git"))
	}
	if err == nil {
		at.below, err = filepath.Rel(at.top, at.dir)
	}
	if at.below = filepath.ToSlash(at.below); at.below == "." {
		at.below = ""
	}
	return at, err == nil
}

func (c *initExistingApp) run(cmd *cobra.Command, dir string, at workTree) error {
	root, err := os.OpenRoot(at.dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // what was written is closed already
	found, others, err := c.find(root)
	if err != nil {
		return err
	}
	facts, err := c.read(cmd.Context(), at)
	if err != nil {
		return err
	}
	o := scaffold.NewOnboarding(found, facts.name, facts.branch, at.below)
	files, err := o.Files(root.FS())
	if err != nil {
		return err
	}
	done, err := writeInto(c.t, root, files, false, "the difference is above; edit the files, or move them away and run it again")
	if err != nil {
		return err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "found the %s %s\n", o.Form, terminal.Printable(o.Folder))
	for _, other := range others {
		fmt.Fprintf(&out, "  not used: the %s %s; choose it with --%[1]s %s\n", other.Form, terminal.Printable(other.Folder), terminal.ShellWord(other.Folder))
	}
	fmt.Fprintf(&out, "\nassumed:\n")
	for _, line := range c.assumed(o, found, facts) {
		fmt.Fprintf(&out, "  %s\n", line)
	}
	next := withPath(c.t, c.next(o, dir, at, facts)...)
	_, err = fmt.Fprintf(c.t.Out, "%s\n%s, not committed:\n%s\ntry next:\n  %s\n", &out, c.t.OutStyle.Green("wrote"), done, strings.Join(next, "\n  "))
	return err
}

// find returns what is delivered, and the other candidates.
func (c *initExistingApp) find(root *os.Root) (scaffold.Deliverable, []scaffold.Deliverable, error) {
	s, err := scaffold.FindDeliverables(root.FS())
	if err != nil {
		return scaffold.Deliverable{}, nil, err
	}
	for _, name := range s.Workloads {
		if name != "workload/workload.yaml" {
			return scaffold.Deliverable{}, nil, cli.Failed(fmt.Errorf("%s has a Workload already; nothing was written", terminal.Printable(name)), "edit that one")
		}
	}
	chosen := scaffold.Deliverable{}
	for _, form := range scaffold.Forms {
		if folder := *c.chosen[form]; folder != "" {
			if chosen, err = scaffold.InspectDeliverable(root.FS(), form, filepath.ToSlash(folder)); err != nil {
				return chosen, nil, cli.Failed(fmt.Errorf("--%s: %w", form, err), "choose "+choices(s.Found))
			}
		}
	}
	if chosen.Form == "" {
		if len(s.Found) == 0 {
			return chosen, nil, notFound(s)
		}
		chosen = s.Found[0]
	}
	others := slices.DeleteFunc(s.Found, func(d scaffold.Deliverable) bool { return d.Form == chosen.Form && d.Folder == chosen.Folder })
	return chosen, others[:min(len(others), maxOthers)], nil
}

// maxOthers is how many other candidates are listed.
const maxOthers = 10

func choices(found []scaffold.Deliverable) string {
	var flags []string
	for _, d := range found[:min(len(found), maxOthers)] {
		flags = append(flags, "--"+string(d.Form)+" "+terminal.ShellWord(d.Folder))
	}
	return cmp.Or(strings.Join(flags, ", "), "a folder with a chart, a kustomization or manifests")
}

func notFound(s scaffold.Search) error {
	const hint = "add a chart, a kustomization or manifests, or name the folder with --chart, --kustomization or --manifests"
	switch {
	case s.InRoot:
		return cli.Failed(errors.New("the manifests are in the root, and a Delivery delivers every YAML file below its folder; nothing was written"),
			"move them into a folder, such as deploy")
	case s.Cut:
		return cli.Failed(errors.New("found nothing to deliver, and did not read all files: there are too many; nothing was written"),
			"name the folder with --chart, --kustomization or --manifests")
	}
	return cli.Failed(errors.New("found no chart, kustomization or manifests; nothing was written"), hint)
}

// repositoryFacts are what the repository says about itself.
type repositoryFacts struct {
	// name is that of the repository or folder, and from says where it is from.
	name, from string
	// branch is checked out; main is what commands read without --branch.
	branch, main string
}

func (c *initExistingApp) read(ctx context.Context, at workTree) (repositoryFacts, error) {
	f := repositoryFacts{name: filepath.Base(at.dir), from: "the folder"}
	client := &git.Client{Env: func(name string) string { return c.t.Env[name] }}
	defer client.Close() //nolint:errcheck // files were only read
	repo, err := client.Open(ctx, at.top)
	if err != nil {
		return f, err
	}
	if at.below == "" {
		origin, err := repo.Origin()
		if err != nil {
			return f, err
		}
		origin = strings.TrimSuffix(strings.TrimRight(origin, "/"), ".git")
		if name := origin[strings.LastIndexAny(origin, "/:")+1:]; name != "" {
			f.name, f.from = name, "the remote origin"
		}
	}
	if f.branch, err = repo.CheckedOut(); err != nil {
		return f, err
	}
	if f.main, err = repo.MainBranch(); err != nil {
		return f, err
	}
	if f.branch = cmp.Or(f.branch, f.main); f.branch == "" {
		return f, cli.Failed(errors.New("a commit without a branch is checked out; nothing was written"), "check out a branch")
	}
	return f, nil
}

// assumed returns what the files do not show.
func (c *initExistingApp) assumed(o scaffold.Onboarding, found scaffold.Deliverable, facts repositoryFacts) []string {
	lines := []string{
		fmt.Sprintf("the name %s, from %s", o.Name, facts.from),
		fmt.Sprintf("the branch %s, which is checked out", facts.branch),
	}
	environments := "the environments " + strings.Join(o.Environments, ", ") + ", in this order, "
	if len(found.Environments) == 0 {
		lines = append(lines, environments+"as the files show none")
	} else {
		lines = append(lines, environments+"from the names of files and folders")
	}
	lines = append(lines, "the repository ../"+o.GitOps+" for the manifests, next to this one, with a branch for each environment")
	switch {
	case o.Form == scaffold.Chart:
		lines = append(lines, "the values of each environment in workload/values on the same branch")
		for _, environment := range o.Environments {
			if from := o.Values[environment]; from != "" {
				lines = append(lines, fmt.Sprintf("workload/values/%s/values.yaml, a copy of %s, which Kalypso does not read", environment, terminal.Printable(from)))
			}
		}
		if o.NoTag {
			lines = append(lines, "no image: the chart has no value image.tag; for --image-tag, list the values in spec.images of the Delivery")
		}
	case o.Image() != "":
		lines = append(lines, "--image-tag is the tag of the image "+o.Image())
	case len(o.Images) > 1:
		lines = append(lines, fmt.Sprintf("--image-tag is the tag of the image %s; for another one, write its name in spec.images of the Delivery", o.Name))
	}
	return lines
}

// next returns the commands to try next.
func (c *initExistingApp) next(o scaffold.Onboarding, dir string, at workTree, facts repositoryFacts) []string {
	inDir, flags := "", ""
	if dir = filepath.Clean(dir); dir != "." {
		inDir = " -C " + terminal.ShellWord(dir)
		source := dir
		if at.below != "" {
			source = at.top
		}
		flags = " --source " + terminal.ShellWord(source)
	}
	if at.below != "" {
		flags += " --path " + terminal.ShellWord(path.Join(at.below, "workload"))
	}
	if facts.branch != facts.main {
		flags += " --branch " + terminal.ShellWord(facts.branch)
	}
	return []string{
		"git" + inDir + " add workload",
		"git" + inDir + " commit -m 'Deliver with Kalypso'",
		"kalypso app check" + flags,
		"kalypso app render -e " + o.Environments[0] + flags,
	}
}
