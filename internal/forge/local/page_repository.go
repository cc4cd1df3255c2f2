package local

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/local/syntax"
)

// Limits of a page.
const (
	maxShownFile    = 1 << 20
	maxShownEntries = 2000
)

// repositoriesPage lists the repositories that the visitor can read.
type repositoriesPage struct {
	Repositories []repositoryLine
	// New is the command that creates the first one.
	New string
}

type repositoryLine struct {
	Path, Link, Description string
	Private                 bool
}

func (p *pages) repositories(r *request) error {
	all, err := queryAll(r.Context(), p.db, scanRepository, "selectRepositories")
	if err != nil {
		return err
	}
	data := repositoriesPage{New: "git push " + p.site.URL() + "/OWNER/NAME main"}
	for _, e := range all {
		if p.mayRead(r.visit.account, e) {
			data.Repositories = append(data.Repositories, repositoryLine{e.path(), p.base() + "/" + e.path(), e.description, e.private})
		}
	}
	if len(data.Repositories) == 0 && !r.visit.signedIn() {
		return p.back(r, p.base()+"/-/sign-in")
	}
	return p.render(r, http.StatusOK, "repositories", "Repositories", data)
}

// folderPage is a folder of a branch; filePage a file. A repository's main page is the root folder of its default branch.
type folderPage struct {
	place
	CloneURL string
	Empty    bool
	Branches []link
	Entries  []treeLine
	// More is the number of entries that are not shown.
	More   int
	Readme template.HTML
}

type filePage struct {
	place
	Lines []codeLine
	Size  int64
	// Hidden is the reason why the content is not shown. Empty if it is.
	Hidden string
}

// place is a page's location in a repository.
type place struct {
	Ref, Commit string
	Crumbs      []link
	// History is the page with the commits that changed the file or folder.
	History string
}

type link struct{ Name, Link string }

type treeLine struct {
	link
	Kind string
}

func (p *pages) repository(r *request) error {
	_, e, err := p.the(r, "files")
	if err != nil {
		return err
	}
	return p.showPath(r, e, r.FormValue("ref"), "")
}

func (p *pages) files(r *request) error {
	_, e, err := p.the(r, "files")
	if err != nil {
		return err
	}
	return p.showPath(r, e, r.FormValue("ref"), strings.Trim(r.PathValue("path"), "/"))
}

// showPath shows a file or folder at a branch or commit. An empty ref means the default branch.
func (p *pages) showPath(r *request, e entry, ref, file string) error {
	objects := p.open(e)
	at, commit, err := p.at(objects, ref)
	if err != nil {
		return err
	}
	tree, err := treeOf(objects, commit)
	if err != nil {
		return notFound("commit " + ref + " does not exist")
	}
	at.Crumbs, at.History = p.crumbs(e, at.Ref, file), p.historyLink(e, at.Ref, file)
	if file == "" {
		return p.showFolder(r, e, objects, at, tree, file)
	}
	found, err := tree.FindEntry(file)
	if err != nil {
		return notFound(file + " does not exist on " + at.Ref)
	}
	if found.Mode == filemode.Dir {
		if tree, err = object.GetTree(objects, found.Hash); err != nil {
			return err
		}
		return p.showFolder(r, e, objects, at, tree, file)
	}
	return p.showFile(r, objects, at, found, file)
}

// at returns the place of a branch or commit, and its commit, which is zero in an empty repository. An empty ref
// means the default branch.
func (p *pages) at(objects bare, ref string) (place, plumbing.Hash, error) {
	at := place{Ref: ref}
	if ref == "" {
		at.Ref = objects.defaultBranch()
	}
	commit, err := objects.branch(at.Ref)
	if err != nil {
		return at, commit, err
	}
	if commit.IsZero() && plumbing.IsHash(ref) {
		commit = plumbing.NewHash(ref)
	}
	if commit.IsZero() && ref != "" {
		return at, commit, noBranch(objects, ref)
	}
	at.Commit = commit.String()
	return at, commit, nil
}

// noBranch returns an error that lists existing branches.
func noBranch(objects bare, ref string) error {
	branches, err := objects.branches()
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(branches))
	const most = 10
	return &forge.Error{
		Kind: forge.ErrNotFound, Detail: fmt.Sprintf("branch %.100q does not exist", ref),
		Hint: "choose another one: " + strings.Join(names[:min(len(names), most)], ", "),
	}
}

func (p *pages) fileLink(e entry, ref, file string) string { return p.pathLink(e, "files", ref, file) }

func (p *pages) historyLink(e entry, ref, file string) string {
	return p.pathLink(e, "commits", ref, file)
}

// pathLink is the address of a page about a path.
func (p *pages) pathLink(e entry, page, ref, file string) string {
	segments := strings.Split(file, "/")
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	return p.base() + "/" + e.path() + "/" + page + "/" + strings.Join(segments, "/") + "?ref=" + url.QueryEscape(ref)
}

func (p *pages) crumbs(e entry, ref, file string) []link {
	crumbs := []link{{e.name, p.fileLink(e, ref, "")}}
	for i, c := range file {
		if c == '/' {
			crumbs = append(crumbs, link{path.Base(file[:i]), p.fileLink(e, ref, file[:i])})
		}
	}
	if file != "" {
		crumbs = append(crumbs, link{path.Base(file), p.fileLink(e, ref, file)})
	}
	return crumbs
}

func (p *pages) showFolder(r *request, e entry, objects bare, at place, tree *object.Tree, folder string) error {
	branches, err := objects.branches()
	if err != nil {
		return err
	}
	data := folderPage{place: at, CloneURL: p.site.URL() + "/" + e.path() + ".git", Empty: len(branches) == 0}
	for name := range branches {
		data.Branches = append(data.Branches, link{name, p.fileLink(e, name, "")})
	}
	slices.SortFunc(data.Branches, func(a, b link) int { return cmp.Compare(a.Name, b.Name) })
	entries := slices.Clone(tree.Entries)
	slices.SortFunc(entries, func(a, b object.TreeEntry) int {
		return cmp.Or(cmp.Compare(kindOf(b.Mode), kindOf(a.Mode)), cmp.Compare(a.Name, b.Name))
	})
	data.More = max(0, len(entries)-maxShownEntries)
	for _, one := range entries[:len(entries)-data.More] {
		data.Entries = append(data.Entries, treeLine{link{one.Name, p.fileLink(e, at.Ref, path.Join(folder, one.Name))}, kindOf(one.Mode)})
		if strings.EqualFold(one.Name, "README.md") {
			if text, hidden, _ := readText(objects, one.Hash); hidden == "" {
				data.Readme = markdown(text)
			}
		}
	}
	title := e.path()
	if folder != "" {
		title = folder + " in " + title
	}
	return p.render(r, http.StatusOK, "repository", title, data)
}

// kindOf returns the kind of an entry. Folders sort first.
func kindOf(mode filemode.FileMode) string {
	switch mode {
	case filemode.Dir:
		return "folder"
	case filemode.Symlink:
		return "file (link)"
	case filemode.Submodule:
		return "file (other repository)"
	}
	return "file"
}

func (p *pages) showFile(r *request, objects bare, at place, found *object.TreeEntry, file string) error {
	data := filePage{place: at}
	if found.Mode == filemode.Submodule {
		data.Hidden = "It is a commit of another repository: " + found.Hash.String()
		return p.render(r, http.StatusOK, "files", file, data)
	}
	text, hidden, err := readText(objects, found.Hash)
	if err != nil {
		return err
	}
	data.Hidden, data.Size = hidden, int64(len(text))
	data.Lines = linesOf(r.Context(), file, text)
	return p.render(r, http.StatusOK, "files", file, data)
}

// codeLine is a line of a file, highlighted if possible.
type codeLine struct {
	Text string
	Code template.HTML
}

func linesOf(ctx context.Context, file, text string) []codeLine {
	ctx, cancel := context.WithTimeout(ctx, paintFor)
	defer cancel()
	var lines []codeLine
	for line := range strings.Lines(text) {
		lines = append(lines, codeLine{Text: strings.TrimSuffix(line, "\n")})
	}
	for i, code := range syntax.New(ctx).Lines(file, text) {
		lines[i].Code = code
	}
	return lines
}

// readText reads a blob as text, or returns the reason why it cannot be shown.
func readText(objects bare, hash plumbing.Hash) (text, hidden string, err error) {
	if hash.IsZero() {
		return "", "", nil
	}
	blob, err := object.GetBlob(objects, hash)
	if err != nil {
		return "", "", err
	}
	if blob.Size > maxShownFile {
		return "", "It is too large to be shown.", nil
	}
	reader, err := blob.Reader()
	if err != nil {
		return "", "", err
	}
	defer reader.Close() //nolint:errcheck // only read
	content, err := io.ReadAll(reader)
	if err != nil {
		return "", "", err
	}
	if strings.Contains(string(content), "\x00") {
		return "", "It is not text.", nil
	}
	return strings.ToValidUTF8(string(content), "\uFFFD"), "", nil
}
