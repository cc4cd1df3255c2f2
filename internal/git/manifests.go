package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// toolFolders are folders of forges and editors. Their YAML files are pipelines and settings.
var toolFolders = map[string]bool{
	".git": true, ".github": true, ".gitlab": true, ".gitea": true, ".forgejo": true, ".bitbucket": true,
	".azuredevops": true, ".azure-pipelines": true, ".circleci": true, ".buildkite": true, ".tekton": true, ".woodpecker": true,
	".vscode": true, ".idea": true, ".devcontainer": true, ".husky": true,
}

// ignoreFiles list files to skip, in gitignore syntax. The later one takes precedence.
var ignoreFiles = [...]string{".sourceignore", ".kalypsoignore"}

const (
	maxIgnoreBytes = 1 << 20
	maxPatterns    = 10_000
)

// Manifests returns the YAML files (*.yaml, *.yml in any case) at or below a path that may be Kubernetes documents, sorted.
//
// It skips submodules, folders of forges and editors (.github, .gitlab, .vscode...), folders with a Chart.yaml
// and everything below them, and what a .sourceignore or .kalypsoignore at any level lists.
// The caller chose the path itself, so only the ignore files apply above it.
//
// Symbolic links are returned as such. Sizes are filled in; -1 for a file that cannot be read.
func Manifests(ctx context.Context, t *Tree, below string) ([]Entry, error) {
	shown, _, err := ManifestsAndHidden(ctx, t, below)
	return shown, err
}

// Hidden is a file that an ignore file lists.
type Hidden struct {
	Entry
	// By is the path of the ignore file, and Line the line of its pattern. A .kalypsoignore is named if one hides the file, too.
	By      string
	Line    int
	Pattern string
}

// ManifestsAndHidden is [Manifests] with the files that ignore files hide.
func ManifestsAndHidden(ctx context.Context, t *Tree, below string) (shown []Entry, hidden []Hidden, err error) {
	below, err = cleanBelow(below)
	if err != nil {
		return nil, nil, err
	}
	entries, err := t.filesWithin(ctx, below)
	if err != nil {
		return nil, nil, err
	}
	above, err := t.ignoreFilesAbove(ctx, below)
	if err != nil {
		return nil, nil, err
	}
	all, err := readIgnoreFiles(ctx, t, slices.Concat(above, entries))
	if err != nil {
		return nil, nil, err
	}
	selected := selectManifests(ctx, t, entries, below)
	own := slices.DeleteFunc(slices.Clone(all), func(p ignorePattern) bool { return path.Base(p.file) != ignoreFiles[1] })
	for _, e := range selected {
		by := hiding(all, e.Path)
		if by == nil {
			shown = append(shown, e)
			continue
		}
		by = cmp.Or(hiding(own, e.Path), by)
		hidden = append(hidden, Hidden{Entry: e, By: by.file, Line: by.line, Pattern: by.text})
	}
	return shown, hidden, nil
}

// AllManifests is [Manifests] without ignore files, for files that must not be hidden.
func AllManifests(ctx context.Context, t *Tree, below string) ([]Entry, error) {
	below, err := cleanBelow(below)
	if err != nil {
		return nil, err
	}
	entries, err := t.filesWithin(ctx, below)
	if err != nil {
		return nil, err
	}
	return selectManifests(ctx, t, entries, below), nil
}

// filesWithin returns the files at or below a path. In a plain folder, symbolic links in the path are not followed.
func (t *Tree) filesWithin(ctx context.Context, below string) ([]Entry, error) {
	if t.repo != nil || below == "" {
		return t.Files(ctx, below)
	}
	all, err := t.Files(ctx, "")
	if err != nil {
		return nil, err
	}
	entries := within(all, below)
	if len(entries) == 0 {
		return nil, &Error{Kind: ErrPathNotFound, Op: "find " + quoteRoot(below) + " in", Where: t.name(), Hint: "check the path that the document names"}
	}
	return entries, nil
}

// ignoreFilesAbove returns the ignore files in the folders that contain a path. The rest of a large repository is not read for them.
func (t *Tree) ignoreFilesAbove(ctx context.Context, below string) ([]Entry, error) {
	var found []Entry
	for dir := below; dir != ""; {
		if dir = path.Dir(dir); dir == "." {
			dir = ""
		}
		for _, name := range ignoreFiles {
			at := path.Join(dir, name)
			entries, err := t.Files(ctx, at)
			if errors.Is(err, ErrPathNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if len(entries) == 1 && entries[0].Path == at && at != below {
				found = append(found, entries[0])
			}
		}
	}
	return found, nil
}

// selectManifests selects the YAML files of those at or below a path, those that are ignored included.
func selectManifests(ctx context.Context, t *Tree, entries []Entry, below string) []Entry {
	charts := chartFolders(entries)
	var selected []Entry
	for _, e := range entries {
		if e.Mode == Submodule || !isYAML(e.Path) || inFolder(e.Path, below, charts) {
			continue
		}
		if size, err := t.Size(ctx, e); err == nil {
			e.Size = size
		}
		selected = append(selected, e)
	}
	return selected
}

// within returns the entries at or below a path.
func within(entries []Entry, below string) []Entry {
	if below == "" {
		return entries
	}
	var found []Entry
	for _, e := range entries {
		if e.Path == below || strings.HasPrefix(e.Path, below+"/") {
			found = append(found, e)
		}
	}
	return found
}

func (t *Tree) name() string {
	if t.repo == nil {
		return t.dir
	}
	return t.repo.Name
}

func isYAML(name string) bool {
	extension := strings.ToLower(path.Ext(name))
	return extension == ".yaml" || extension == ".yml"
}

// chartFolders returns the folders that have a Chart.yaml.
func chartFolders(entries []Entry) map[string]bool {
	charts := map[string]bool{}
	for _, e := range entries {
		if path.Base(e.Path) == "Chart.yaml" && e.Mode != Submodule {
			charts[path.Dir(e.Path)] = true
		}
	}
	return charts
}

// inFolder reports whether a file is in a chart or in a tool's folder, at below or deeper.
func inFolder(file, below string, charts map[string]bool) bool {
	if file == below {
		return false
	}
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if charts[dir] {
			return true
		}
		if dir == below || dir == "." {
			return false
		}
		if toolFolders[strings.ToLower(path.Base(dir))] {
			return true
		}
	}
}

// ignorePattern is a pattern with its place.
type ignorePattern struct {
	gitignore.Pattern
	file string
	line int
	text string
}

// hiding returns the pattern that hides a file; nil if it is not hidden. The last pattern that matches decides.
func hiding(patterns []ignorePattern, file string) *ignorePattern {
	segments := strings.Split(file, "/")
	for i := len(patterns) - 1; i >= 0; i-- {
		switch patterns[i].Match(segments, false) {
		case gitignore.Exclude:
			return &patterns[i]
		case gitignore.Include:
			return nil
		}
	}
	return nil
}

// readIgnoreFiles reads all ignore files of a tree. Deeper ones come later, and take precedence.
func readIgnoreFiles(ctx context.Context, t *Tree, entries []Entry) ([]ignorePattern, error) {
	var files []Entry
	for _, e := range entries {
		if rank(e.Path) >= 0 && (e.Mode == Regular || e.Mode == Executable) {
			files = append(files, e)
		}
	}
	sort.SliceStable(files, func(i, j int) bool {
		di, dj := strings.Count(files[i].Path, "/"), strings.Count(files[j].Path, "/")
		if di != dj {
			return di < dj
		}
		return rank(files[i].Path) < rank(files[j].Path)
	})
	var patterns []ignorePattern
	for _, e := range files {
		content, err := t.Read(ctx, e, maxIgnoreBytes)
		if err != nil {
			return nil, err
		}
		patterns = append(patterns, parseIgnore(content, e.Path)...)
	}
	if len(patterns) > maxPatterns {
		return nil, &Error{Kind: ErrTooLarge, Op: "read ignore files of", Where: t.name(), Detail: "they have more than 10,000 patterns", Hint: "ignore folders instead of files"}
	}
	return patterns, nil
}

func rank(file string) int {
	for i, name := range ignoreFiles {
		if path.Base(file) == name {
			return i
		}
	}
	return -1
}

// parseIgnore parses gitignore syntax. The patterns apply below the file's folder.
func parseIgnore(content []byte, file string) []ignorePattern {
	var domain []string
	if dir := path.Dir(file); dir != "." {
		domain = strings.Split(dir, "/")
	}
	var patterns []ignorePattern
	number := 0
	for line := range bytes.Lines(bytes.TrimPrefix(content, []byte("\ufeff"))) {
		number++
		text := strings.TrimRight(string(line), "\r\n")
		if strings.TrimSpace(text) != "" && text[0] != '#' && strings.Trim(text, "/! ") != "" {
			patterns = append(patterns, ignorePattern{gitignore.ParsePattern(text, domain), file, number, text})
		}
	}
	return patterns
}
