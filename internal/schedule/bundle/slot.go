package bundle

import (
	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/render"
)

// slot is one file of every assignment of a cluster type: the template that writes it, or why there is none.
type slot struct {
	file     string
	template *render.Template
	missing  *fleet.Problem
}

// slots finds the templates that the cluster type names, and returns their problems.
func (f *folderBuild) slots() []fleet.Problem {
	problems := f.slot(v1alpha1.NamespaceTemplate, f.clusterType.NamespaceService, namespaceName)
	if f.clusterType.ConfigType != fleet.NoConfig {
		problems = append(problems, f.slot(v1alpha1.ConfigTemplate, f.clusterType.ConfigType, configYAMLName)...)
	}
	return append(problems, f.slot(v1alpha1.ReconcilerTemplate, f.clusterType.Reconciler, reconcilerName)...)
}

func (f *folderBuild) slot(kind v1alpha1.TemplateType, name, file string) (problems []fleet.Problem) {
	t, problem := f.library.Find(kind, name)
	if t != nil && t.ContentType() == v1alpha1.ContentShell && file == configYAMLName {
		file = configShellName
	}
	if t != nil && kind == v1alpha1.ReconcilerTemplate {
		file = t.FileName()
	}
	s := slot{file: file, template: t}
	if problem != nil {
		p := *problem
		// A notice about a built-in template is one for all cluster types that use it.
		if p.Severity == fleet.SeverityError && p.Position == (fleet.Position{}) {
			p.Position = f.clusterType.Position
		}
		if p.Object == (fleet.Ref{}) {
			p.Object = fleet.Ref{Kind: "ClusterType", Name: f.clusterType.Name}
		}
		problems = append(problems, p)
		if t == nil {
			s.missing = &p
		}
	}
	f.templates = append(f.templates, s)
	return problems
}
