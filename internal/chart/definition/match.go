package definition

import (
	"fmt"
	"path"
	"slices"
	"strings"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	scheduler "github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Pair is a target of an environment and what it is rendered with.
type Pair struct {
	// Target is the name of the target.
	Target string
	// Folder is where its manifests go, from the path of the GitOps repository.
	Folder string
	// Layers are the files of its values, from the root of the configuration down; none where it has none.
	Layers []string
	// Service is the service that is rendered; empty for what is none.
	Service string
}

// Match finds out which folder of the configuration belongs to which target of an environment. The delivery is a
// complete one; targets are all of the Workload; folders are those of the environment's configuration, whose paths count
// from config.path.
//
// A target that no folder renders is an error that names both, and so is one that two folders could render. A folder that
// no target names is rendered all the same, under its own name, with a notice: no platform will look for it.
func Match(d *app.Delivery, environment string, targets []scheduler.WorkloadTarget, folders []values.Folder) ([]Pair, []fleet.Problem) {
	m := matcher{delivery: d, environment: environment, folders: folders, taken: map[string]bool{}}
	for _, t := range targets {
		if t.Environment == environment {
			m.targets = append(m.targets, t)
		}
	}
	switch {
	case len(d.Spec.Services) > 0:
		m.services()
	case d.Spec.Chart == nil: // what is rendered has no values
		for _, t := range m.targets {
			m.pair(t, nil)
		}
	default:
		m.byName()
	}
	slices.SortFunc(m.pairs, func(a, b Pair) int { return strings.Compare(a.Target, b.Target) })
	return m.pairs, fleet.SortProblems(m.problems)
}

type matcher struct {
	delivery    *app.Delivery
	environment string
	targets     []scheduler.WorkloadTarget
	folders     []values.Folder
	taken       map[string]bool
	pairs       []Pair
	problems    []fleet.Problem
}

// byName pairs targets with folders, as the delivery says or else by the last element of the folder's path.
func (m *matcher) byName() {
	for _, t := range m.targets {
		switch found := m.candidates(t.Name); len(found) {
		case 0:
			m.fail(fleet.KindMissingObject, "target %q of environment %q has no folder %q with a values.yaml in the configuration", t.Name, m.environment, m.folderName(t.Name))
		case 1:
			m.taken[found[0].Path] = true
			m.pair(t, found[0].Files)
		default:
			m.fail(fleet.KindNameCollision, "target %q of environment %q could be rendered with folder %q or %q", t.Name, m.environment, found[0].Path, found[1].Path)
			for _, f := range found {
				m.taken[f.Path] = true
			}
		}
	}
	for _, f := range m.folders {
		if m.taken[f.Path] || f.Path == "" {
			continue
		}
		m.pairs = append(m.pairs, Pair{Target: f.Name(), Folder: f.Name(), Layers: f.Files})
		m.problems = append(m.problems, fleet.Problem{
			Severity: fleet.SeverityNotice, Kind: fleet.KindMissingObject,
			Position: fleet.Position{Source: m.environment, File: path.Join(f.Path, values.FileName)},
			Message:  fmt.Sprintf("folder %q is rendered, and no target of environment %q in the Workload names it", f.Path, m.environment),
			Hint:     "add the target to the Workload, or remove the folder",
		})
	}
}

func (m *matcher) fail(kind fleet.ProblemKind, format string, args ...any) {
	m.problems = append(m.problems, fleet.Problem{
		Severity: fleet.SeverityError, Kind: kind, Message: fmt.Sprintf(format, args...),
		Hint: "name the folder like the target, or say which belongs to it in config.targets of the Delivery",
	})
}

// folderName is how the folder of a target is called.
func (m *matcher) folderName(target string) string {
	for _, t := range m.delivery.Spec.Config.Targets {
		if t.Name == target {
			return cleaned(t.Folder)
		}
	}
	return target
}

// candidates are the folders that may be a target's.
func (m *matcher) candidates(target string) []values.Folder {
	var found []values.Folder
	for _, t := range m.delivery.Spec.Config.Targets {
		if t.Name != target {
			continue
		}
		for _, f := range m.folders {
			if f.Path == cleaned(t.Folder) {
				found = append(found, f)
			}
		}
		return found
	}
	if len(m.folders) == 1 && m.folders[0].Path == "" {
		return m.folders // one file for all of them
	}
	for _, f := range m.folders {
		if f.Name() == target && !m.named(f) {
			found = append(found, f)
		}
	}
	return found
}

// named reports whether the delivery gives a folder to a target.
func (m *matcher) named(f values.Folder) bool {
	return slices.ContainsFunc(m.delivery.Spec.Config.Targets, func(t app.ConfigTarget) bool { return cleaned(t.Folder) == f.Path })
}

func cleaned(folder string) string {
	clean, err := fleet.CleanPath(folder)
	if err != nil {
		return folder // refused when the delivery was read
	}
	return clean
}

// pair adds a target of the Workload. Its manifests go where the Workload says that they are.
func (m *matcher) pair(t scheduler.WorkloadTarget, layers []string) {
	p := Pair{Target: t.Name, Folder: t.Name, Layers: layers}
	root := cleaned(m.delivery.Spec.GitOps.Path)
	if at, err := fleet.CleanPath(t.Manifests["path"]); err == nil && at != "" {
		if below, ok := strings.CutPrefix(at, root+"/"); ok || root == "" {
			p.Folder = at
			if root != "" {
				p.Folder = below
			}
		} else {
			m.problems = append(m.problems, fleet.Problem{
				Severity: fleet.SeverityWarning, Kind: fleet.KindInvalidValue,
				Message: fmt.Sprintf("the Workload says that the manifests of target %q are in %q, which is not below gitops.path %q", t.Name, at, root),
				Hint:    "correct manifests.path of the target, or gitops.path of the Delivery",
			})
		}
	}
	m.pairs = append(m.pairs, p)
}

// services pairs each service with the folders below the one of its name; without any, it is rendered once as it is.
func (m *matcher) services() {
	for _, s := range m.delivery.Spec.Services {
		found := false
		for _, f := range m.folders {
			below, ok := strings.CutPrefix(f.Path+"/", s.Name+"/")
			if !ok {
				continue
			}
			found = true
			name := s.Name
			if below = strings.TrimSuffix(below, "/"); below != "" {
				name += "-" + strings.ReplaceAll(below, "/", "-")
			}
			m.pairs = append(m.pairs, Pair{Target: name, Folder: f.Path, Layers: f.Files, Service: s.Name})
		}
		if !found {
			m.pairs = append(m.pairs, Pair{Target: s.Name, Folder: s.Name, Service: s.Name})
		}
	}
}
