package solution

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Difference is something that two versions do not agree about.
type Difference struct {
	// Target is empty for what concerns all targets.
	Target string `json:"target,omitempty"`
	// File is empty for a field of the descriptor, and Line is 0 for a file that only one of them has.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Field is a field of the descriptor.
	Field string `json:"field,omitempty"`
	// Has is what the first version has, Wants what the second has; empty for nothing.
	Has   string `json:"has"`
	Wants string `json:"wants"`
	// Diff is the unified difference of a file.
	Diff string `json:"diff,omitempty"`
}

// String returns the difference on one line.
func (d Difference) String() string {
	where := d.Field
	if d.File != "" {
		if where = d.File; d.Line > 0 {
			where = fmt.Sprintf("%s:%d", d.File, d.Line)
		}
	}
	switch {
	case d.Has == "":
		return fmt.Sprintf("%s: %s is missing", where, quote(d.Wants))
	case d.Wants == "":
		return fmt.Sprintf("%s: %s is too much", where, quote(d.Has))
	}
	return fmt.Sprintf("%s: it has %s, not %s", where, quote(d.Has), quote(d.Wants))
}

func quote(text string) string { return fmt.Sprintf("%.200q", strings.TrimSpace(text)) }

// Compare returns what differs in a version from the one that it should be, sorted by file, after the fields of the descriptor.
// The renderer is not compared: another release that renders the same files makes the same version. Neither are checks of another release or
// by the platform's rules, because these depend on more than the commits.
func Compare(has, wants *Version) []Difference {
	differences := append(compareFields(has, wants), CompareFiles(has, wants.Files)...)
	if len(differences) == 0 { // other files have other findings anyway
		differences = compareFindings(has, wants)
	}
	return differences
}

// compareFindings compares the results of checks if both come from the same rules, and returns the first one that differs.
func compareFindings(has, wants *Version) []Difference {
	a, b := has.Checks, wants.Checks
	if has.Renderer != wants.Renderer || a.Policy != PolicyBuiltIn || b.Policy != PolicyBuiltIn || slices.Equal(a.Findings, b.Findings) && maps.Equal(a.Omitted, b.Omitted) {
		return nil
	}
	d := Difference{Field: "checks.findings"}
	if slices.Equal(a.Findings, b.Findings) {
		d = Difference{Field: "checks.omitted", Has: fmt.Sprint(a.Omitted), Wants: fmt.Sprint(b.Omitted)}
	}
	for i := range max(len(a.Findings), len(b.Findings)) {
		if i < len(a.Findings) && i < len(b.Findings) && a.Findings[i] == b.Findings[i] {
			continue
		}
		if i < len(a.Findings) {
			d.Has = a.Findings[i].String()
		}
		if i < len(b.Findings) {
			d.Wants = b.Findings[i].String()
		}
		break
	}
	return []Difference{d}
}

// compareFields compares what the descriptors say, except about files.
func compareFields(has, wants *Version) []Difference {
	var differences []Difference
	add := func(field string, a, b any) {
		if !reflect.DeepEqual(a, b) {
			differences = append(differences, Difference{Field: field, Has: fmt.Sprint(a), Wants: fmt.Sprint(b)})
		}
	}
	add("application", has.Application, wants.Application)
	add("environment", has.Environment, wants.Environment)
	add("workspace", has.Workspace, wants.Workspace)
	add("release", has.Release, wants.Release)
	add("image", has.Image, wants.Image)
	add("inputs.source", has.Inputs.Source, wants.Inputs.Source)
	add("inputs.config", valueOf(has.Inputs.Config), valueOf(wants.Inputs.Config))
	a, b := has.Inputs.platform(), wants.Inputs.platform()
	add("inputs.platform.environment", a.Environment, b.Environment)
	add("inputs.platform.main", a.Main, b.Main)
	add("inputs.platform.others", a.Others, b.Others)
	add("inputs.platform.kept", a.Kept, b.Kept)
	add("inputs.gitops", has.Inputs.GitOps, wants.Inputs.GitOps)
	add("merged", has.Merged, wants.Merged)
	if !sameParameters(has.Parameters, wants.Parameters) {
		add("parameters", fmt.Sprintf("%+v", has.Parameters), fmt.Sprintf("%+v", wants.Parameters))
	}
	add("schema", has.Schema, wants.Schema)
	for _, t := range union(has.Targets, wants.Targets) {
		a, hasIt := has.Target(t)
		b, wantsIt := wants.Target(t)
		switch {
		case !hasIt:
			differences = append(differences, Difference{Target: t, Field: "targets", Wants: t})
		case !wantsIt:
			differences = append(differences, Difference{Target: t, Field: "targets", Has: t})
		case !reflect.DeepEqual(a.Pinned, b.Pinned):
			differences = append(differences, Difference{Target: t, Field: "targets.pinned", Has: a.Pinned.String(), Wants: b.Pinned.String()})
		case a.Folder != b.Folder || a.Objects != b.Objects || !slices.Equal(a.Images, b.Images):
			differences = append(differences, Difference{Target: t, Field: "targets", Has: a.String(), Wants: b.String()})
		}
	}
	return differences
}

// sameParameters compares parameters; empty and absent ones are equal.
func sameParameters(a, b Parameters) bool {
	return a.Kubernetes.Version == b.Kubernetes.Version && slices.Equal(a.Kubernetes.APIVersions, b.Kubernetes.APIVersions) &&
		slices.Equal(a.Set, b.Set) && slices.Equal(a.SetString, b.SetString) && fmt.Sprint(a.Vars) == fmt.Sprint(b.Vars)
}

// String returns what a target has.
func (t Target) String() string {
	return fmt.Sprintf("%s in %s with %d objects and images %s", t.Name, t.Folder, t.Objects, strings.Join(t.Images, ", "))
}

func valueOf(i *Input) Input {
	if i == nil {
		return Input{}
	}
	return *i
}

// platform returns the inputs of the platform; zero for an application.
func (i Inputs) platform() PlatformInputs {
	if i.Platform == nil {
		return PlatformInputs{}
	}
	return *i.Platform
}

// union returns the names of two lists of targets, sorted.
func union(a, b []Target) []string {
	var names []string
	for _, t := range slices.Concat(a, b) {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// CompareMerged returns what differs in the files of a version from those of its GitOps commit, which has no schema.
func CompareMerged(has *Version, merged []File) []Difference {
	files := *has
	files.Files = slices.DeleteFunc(slices.Clone(has.Files), func(f File) bool { return f.Path == SchemaFile })
	return CompareFiles(&files, merged)
}

// CompareFiles returns what differs in the files of a version from those that it should have. The files must be sorted by path.
func CompareFiles(has *Version, wants []File) []Difference {
	owner := has.owner()
	var differences []Difference
	a, b := has.Files, wants
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Path < b[0].Path:
			differences = append(differences, Difference{File: a[0].Path, Has: "the file"})
			a = a[1:]
		case len(a) == 0 || b[0].Path < a[0].Path:
			differences = append(differences, Difference{File: b[0].Path, Wants: "the file"})
			b = b[1:]
		default:
			if !bytes.Equal(a[0].Content, b[0].Content) {
				differences = append(differences, compareFile(a[0], b[0]))
			}
			a, b = a[1:], b[1:]
		}
	}
	for i := range differences {
		differences[i].Target, _ = owner(differences[i].File)
	}
	return differences
}

const (
	// maxCompared is the largest file whose difference is shown, maxDiff the largest difference, in bytes.
	maxCompared = 256 << 10
	maxDiff     = 20_000
)

// compareFile returns the first line that differs, which in a file of values is a value.
func compareFile(has, wants File) Difference {
	d := Difference{File: has.Path}
	a, b := strings.SplitAfter(string(has.Content), "\n"), strings.SplitAfter(string(wants.Content), "\n")
	for d.Line < len(a) && d.Line < len(b) && a[d.Line] == b[d.Line] {
		d.Line++
	}
	if d.Line < len(a) {
		d.Has = strings.TrimSuffix(a[d.Line], "\n")
	}
	if d.Line < len(b) {
		d.Wants = strings.TrimSuffix(b[d.Line], "\n")
	}
	d.Line++
	if len(has.Content) <= maxCompared && len(wants.Content) <= maxCompared {
		if d.Diff = udiff.Unified("artifact", "rebuilt", string(has.Content), string(wants.Content)); len(d.Diff) > maxDiff {
			d.Diff = d.Diff[:strings.LastIndexByte(d.Diff[:maxDiff], '\n')+1] + "… and more\n"
		}
	}
	return d
}
