package fleettest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Format formats a snapshot for golden files: one line per object with its position,
// its fields indented below, then the problems and the unreadable objects.
func Format(s *fleet.Snapshot) string {
	w := &writer{}
	if s.PromotedCommit != "" {
		w.line("promoted %s", s.PromotedCommit)
	}
	if g := s.GitOps; g != nil {
		w.line("GitOps %s branch %q path %q merge %t budget %+v  %s", g.Repo, g.Branch, g.Path, g.AutoMerge, g.Budget, place(g.Position))
	}
	for _, ct := range s.ClusterTypes {
		w.line("ClusterType %s%s reconciler %q namespace %q config %q  %s", ct.Name, labels(ct.Labels), ct.Reconciler, ct.NamespaceService, ct.ConfigType, place(ct.Position))
	}
	for _, c := range s.Clusters {
		w.line("Cluster %s%s of type %s ring %q  %s", c.Name, labels(c.Labels), c.Type, c.Ring, place(c.Position))
	}
	for _, t := range s.Targets {
		w.target(t)
	}
	for _, p := range s.Policies {
		w.line("Policy %s workspace %q targets %s types %s  %s", p.Name, p.Workspace, selector(p.Targets), selector(p.ClusterTypes), place(p.Position))
	}
	for _, g := range s.Grants {
		w.line("Grant %s workspace %q targets %s roles %v secrets %v  %s", g.Name, g.Workspace, selector(g.Targets), g.Roles, g.Secrets, place(g.Position))
	}
	for _, c := range s.Configs {
		w.line("ConfigMap %s%s  %s", c.Name, labels(c.Labels), place(c.Position))
		for _, e := range c.Entries {
			w.line("  %d: %s = %s", e.Value.Line, e.Key, node(e.Value))
		}
	}
	for _, c := range s.Schemas {
		w.line("Schema %s%s inline %t missing %s  %s", c.Name, labels(c.Labels), c.Inline, c.OnMissing, place(c.Position))
		w.line("  %v", c.Document)
	}
	for _, t := range s.Templates {
		w.template(t)
	}
	for _, d := range s.Definitions {
		w.line("Definition %s  %s", d.Name, place(d.Position))
	}
	for _, p := range s.CheckPolicies {
		w.line("CheckPolicy %s levels %v rules %v  %s", p.Value.Name, p.Value.Spec.Levels, p.Value.Spec.Rules, place(p.Position))
		for _, s := range p.Value.Spec.Scans {
			w.line("  scan %s of %s %q exit codes %v level %q", s.Name, s.What, s.Command.Args, s.Command.ExitCodes, s.Level)
		}
	}
	w.trouble(s)
	return w.String()
}

type writer struct{ strings.Builder }

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

func (w *writer) target(t *fleet.Target) {
	w.line("Target %s%s of %s workspace %q through %q  %s", t.Name, labels(t.Labels), t, t.Workspace, t.Registration, place(t.Position))
	if len(t.Manifests) > 0 {
		w.line("  manifests%s", labels(t.Manifests))
	}
	if len(t.DependsOn) > 0 {
		w.line("  depends on %v", t.DependsOn)
	}
	if len(t.ConfigSchemas) > 0 {
		w.line("  schemas %s", strings.Join(t.ConfigSchemas, ", "))
	}
}

func (w *writer) template(t *fleet.Template) {
	w.line("Template %s type %s content %s chart %q  %s", t.Name, t.Type, t.ContentType, t.Chart, place(t.Position))
	for _, storage := range slices.Sorted(maps.Keys(t.Keys)) {
		w.line("  keys of %s: %s", storage, strings.Join(t.Keys[storage], ", "))
	}
	for _, m := range t.Manifests {
		if m.Object != nil {
			w.line("  %d: object %v", m.Position.Line, m.Object)
		} else {
			w.line("  %d: text %q", m.Position.Line, m.Text)
		}
	}
}

func (w *writer) trouble(s *fleet.Snapshot) {
	for _, p := range s.Problems {
		w.line("%s %s %s  %s\n  %s", p.Severity, p.Kind, name(p.Object), place(p.Position), p.Message)
		if p.Hint != "" {
			w.line("  -> %s", p.Hint)
		}
	}
	for _, u := range s.Unreadable {
		which := name(u.Ref)
		if u.Nameless {
			which = "any " + u.Ref.Kind + ", written " + u.Ref.Name
		}
		w.line("unreadable %s%s  %s", which, labels(u.Labels), place(u.Position))
	}
}

func name(ref fleet.Ref) string {
	if ref == (fleet.Ref{}) {
		return "-"
	}
	return ref.String()
}

func place(p fleet.Position) string { return "(" + p.Source + " " + p.String() + ")" }

func labels(m map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, " %s=%s", key, m[key])
	}
	return b.String()
}

func selector(s interface {
	Empty() bool
	String() string
},
) string {
	if s.Empty() {
		return "any"
	}
	return fmt.Sprintf("%q", s)
}

// node formats a value on one line, with its quotes.
func node(n *yaml.Node) string {
	text, err := yaml.Marshal(n)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%q", strings.TrimSuffix(string(text), "\n"))
}
