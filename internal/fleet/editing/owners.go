package editing

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// FileOwners are the users and groups that may change values in a file.
type FileOwners struct {
	File string `json:"file"`
	// Names are those of all values of the file. Each may change some of them.
	Names []string `json:"names"`
	// Keys are the values with edit rights in the file.
	Keys []string `json:"keys"`
}

// Collect groups the editors of values by file, sorted.
func Collect(add func(note func(file string, editors Editors))) []FileOwners {
	byFile := map[string]*FileOwners{}
	add(func(file string, e Editors) {
		if byFile[file] == nil {
			byFile[file] = &FileOwners{File: file}
		}
		byFile[file].Names = append(byFile[file].Names, e.Names...)
		byFile[file].Keys = append(byFile[file].Keys, e.Key)
	})
	var all []FileOwners
	for _, f := range byFile {
		slices.Sort(f.Names)
		slices.Sort(f.Keys)
		f.Names, f.Keys = slices.Compact(f.Names), slices.Compact(f.Keys)
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b FileOwners) int { return cmp.Compare(a.File, b.File) })
	return all
}

// Lines around what is generated in a CODEOWNERS file. The rest of the file belongs to users.
const (
	beginOwners = "# kalypso: begin, generated from editableBy"
	endOwners   = "# kalypso: end"
)

// Handles translates users and groups to owners of a forge.
type Handles struct {
	// Teams is the prefix of groups: "@acme/".
	Teams string
	// Of are the owners of single users and groups.
	Of map[string]string
}

// owner matches what a CODEOWNERS file can name: @user, @org/team, @group/subgroup, or an address.
// https://docs.github.com/en/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners
var owner = regexp.MustCompile(`^(@[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*|[^@\s#]+@[^@\s#]+)$`)

// handle returns the owner of a name.
func (h Handles) handle(name string) (string, error) {
	to, ok := h.Of[name]
	switch {
	case ok:
	case strings.Contains(name, "@"):
		to = name
	case h.Teams == "":
		return "", fmt.Errorf("the owner of %q is not known: give the prefix of teams, or its owner", name)
	default:
		to = h.Teams + name
	}
	if !owner.MatchString(to) {
		return "", fmt.Errorf("%q cannot be an owner in CODEOWNERS: write @user, @organization/team or an address", to)
	}
	return to, nil
}

// CodeOwners returns the content of a CODEOWNERS file: current with the generated lines replaced, or added at its end, where they take
// precedence.
func CodeOwners(current string, files []FileOwners, h Handles) (string, error) {
	var errs []error
	var b strings.Builder
	b.WriteString(beginOwners + "\n# Files, not values: who owns a file can approve every change of it. \"kalypso config check\" checks each value.\n")
	for _, f := range files {
		var owners []string
		for _, name := range f.Names {
			to, err := h.handle(name)
			errs = append(errs, err)
			owners = append(owners, to)
		}
		slices.Sort(owners)
		fmt.Fprintf(&b, "%s %s\n", pattern(f.File), strings.Join(slices.Compact(owners), " "))
	}
	b.WriteString(endOwners + "\n")
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	before, rest, found := strings.Cut(current, beginOwners)
	if !found {
		if current != "" && !strings.HasSuffix(current, "\n") {
			current += "\n"
		}
		return current + b.String(), nil
	}
	_, after, ended := strings.Cut(rest, endOwners+"\n")
	if !ended {
		if _, after, ended = strings.Cut(rest, endOwners); !ended || after != "" {
			return "", fmt.Errorf("the line %q is missing; remove the generated lines", endOwners)
		}
	}
	return before + b.String() + after, nil
}

// pattern returns the pattern of one file. Its grammar is that of gitignore, without "!" and ranges.
func pattern(file string) string {
	return "/" + strings.NewReplacer(`\`, `\\`, " ", `\ `, "*", `\*`, "?", `\?`, "[", `\[`, "#", `\#`).Replace(file)
}
