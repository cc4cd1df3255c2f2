package deliver

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// Plan holds the changes that a draft makes to the GitOps branch.
type Plan struct {
	Workload    string `json:"workload"`
	Environment string `json:"environment"`
	// From is the published build, To the rendered one.
	From Build `json:"from,omitzero"`
	To   Build `json:"to"`
	// Before and After describe what is compared, with their commits.
	Before string `json:"before"`
	After  string `json:"after"`
	// Targets are the targets that change or are held, by name.
	Targets []TargetChange `json:"targets"`
	Counts  plan.Counts    `json:"counts"`
	// Budget is how many removals need no approval. Refusals say why the plan needs approval.
	Budget   int      `json:"budget"`
	Refusals []string `json:"refusals,omitempty"`
	// Approval says how to approve it; empty if it needs none.
	Approval string `json:"approval,omitempty"`
	// Drift lists the files that were changed by hand. They are restored, unless the plan keeps them.
	Drift []bundle.Drift `json:"drift,omitempty"`
	// KeepsDrift means that targets with drift keep their files.
	KeepsDrift bool `json:"keepsDrift,omitempty"`
	// Files is how many files are written or deleted.
	Files int `json:"files"`
	// Pinned are the targets that keep a revision or are uninstalled, by name. PinsOnly means that the plan changes only which these are:
	// everything else waits until it is merged or closed.
	Pinned   []PinnedTarget `json:"pinned,omitempty"`
	PinsOnly bool           `json:"pinsOnly,omitempty"`
	// Requests are what was asked for, by name of the target, in a plan that changes pins.
	Requests []PinnedTarget `json:"requests,omitempty"`
	// Digests are the digests of the images of added and changed targets whose references have none, by reference. They are those at
	// the time of the plan; absent if they are not looked up.
	Digests map[string]ImageDigest `json:"digests,omitempty"`
	// Problems are all problems, sorted.
	Problems []fleet.Problem `json:"problems"`

	// removals is what the budget limits: targets that are removed, and those that lose all their objects.
	removals int
	// repinned are the requests that change a pin, in their order.
	repinned []PinnedTarget
}

// TargetChange is a target that changes or is held.
type TargetChange struct {
	Name   string  `json:"name"`
	Folder string  `json:"folder"`
	Op     plan.Op `json:"op"`
	// Objects are the objects that change; empty if only records do.
	Objects []ObjectChange `json:"objects,omitempty"`
	// Values are the composed values that change.
	Values []ValueChange `json:"values,omitempty"`
	// Restarts are the workloads whose pods are replaced, because the template of the pods changes.
	Restarts []string `json:"restarts,omitempty"`
	// Configs are the ConfigMaps and Secrets whose data change.
	Configs []DataChange `json:"configs,omitempty"`
	// Stays are Secrets that stay in the clusters: what made them there is removed, but they are not.
	Stays []string `json:"stays,omitempty"`
	// Images are the images in the manifests.
	Images []string `json:"images,omitempty"`
	// Reason explains why the target is held.
	Reason *fleet.Problem `json:"reason,omitempty"`

	// emptied means that the target had objects and has none any more, replaced that it has only other ones. In both cases
	// clusters delete everything that they run of it.
	emptied, replaced bool
}

// PinnedTarget is a target with its pin, and who asked for it. Without a pin, it was asked that the target follows its environment.
type PinnedTarget struct {
	Name string `json:"name"`
	tree.Pin
	tree.Request
}

// ValueChange is a composed value that differs: a [plan.ConfigChange] with other JSON names.
type ValueChange struct {
	Key string `json:"path"`
	// Old and New are nil if the value is not set.
	Old *string `json:"old,omitempty"`
	New *string `json:"new,omitempty"`
	// From is where the new value is set.
	From fleet.Position `json:"from,omitzero"`
	Over fleet.Position `json:"-"`
}

// Promotes reports whether the plan includes another commit of the source, not only new configuration.
func (p *Plan) Promotes() bool { return p.From.Commit != p.To.Commit }

// plan compares the tree with the branch.
func (d *Draft) plan() (*Plan, error) {
	w := d.work
	p := &Plan{
		Workload: w.app.Workload.Name, Environment: w.environment, From: w.gitops.Build, To: w.build, Targets: []TargetChange{},
		Before: w.gitops.String(), After: w.inputsText(), Problems: d.Tree.Problems, Files: len(d.changes), KeepsDrift: d.keepDrift,
		PinsOnly: w.only != nil,
	}
	if w.gitops.Published != nil {
		p.Drift = w.gitops.Published.Drift
	}
	changed := map[string]bundle.Change{}
	for _, c := range d.changes {
		changed[c.Path] = c
	}
	for i := range d.Tree.Targets {
		c, err := d.target(&d.Tree.Targets[i], changed)
		if err != nil {
			return nil, err
		}
		p.count(c)
		if pin := d.Tree.Targets[i].Pin; !pin.IsZero() {
			p.Pinned = append(p.Pinned, PinnedTarget{c.Name, pin, d.requestOf(c.Name)})
		}
		if c.Op != plan.Held && d.asks(c.Name) {
			p.Requests = append(p.Requests, PinnedTarget{c.Name, w.pins[c.Name].Pin, d.requestOf(c.Name)})
		}
		if c.Op != plan.Held && w.only[c.Name] {
			p.repinned = append(p.repinned, p.Requests[len(p.Requests)-1])
		}
	}
	for _, e := range d.Tree.Removed {
		c := TargetChange{Name: e.Name, Folder: e.Folder, Op: plan.Removed}
		before, err := d.published(e.Files)
		if err != nil {
			return nil, err
		}
		c.Objects, c.Stays = changedObjects(before, nil), staying(before, nil)
		p.count(c)
	}
	slices.SortStableFunc(p.Targets, func(a, b TargetChange) int { return cmp.Compare(a.Name, b.Name) })
	p.Problems = fleet.SortProblems(append([]fleet.Problem{}, slices.Concat(p.Problems, w.app.Problems, w.others, d.unrendered())...))
	p.checkBudget(w)
	return p, nil
}

// count counts a target, and lists it unless it is unchanged.
func (p *Plan) count(c TargetChange) {
	if p.Counts.Count(c.Op); c.Op != plan.Unchanged {
		p.Targets = append(p.Targets, c)
	}
}

func (d *Draft) target(e *tree.Entry, changed map[string]bundle.Change) (TargetChange, error) {
	c := TargetChange{Name: e.Name, Folder: e.Folder, Op: plan.Unchanged, Images: e.Images, Reason: e.Held}
	if e.Held != nil {
		c.Op = plan.Held
		return c, nil
	}
	files := 0
	for _, f := range e.Files {
		change, ok := changed[f.Path]
		if !ok {
			continue
		}
		files++
		old, err := d.old(change)
		if err != nil {
			return c, err
		}
		switch path.Base(f.Path) {
		case "manifests.yaml":
			if old == nil {
				if old, err = d.legacy(e.Name, e.Folder); err != nil {
					return c, err
				}
			}
			c.Objects = changedObjects(old, change.Content)
			c.Restarts, c.Configs = restarts(c.Objects, change.Content)
			c.Stays = staying(old, change.Content)
			c.compareWhole(old, change.Content)
		case values.FileName:
			keys, rendered := d.Values(e.Name)
			if !rendered { // a pinned target has the values of its revision
				keys = publishedValues(change.Content)
				for n := range keys {
					keys[n].From = fleet.Position{Source: "its revision"}
				}
			}
			c.Values = changedValues(old, keys)
		}
	}
	published := d.work.gitops.target(e.Name, e.Folder)
	switch {
	case published == nil:
		c.Op = plan.Added
	case files > 0 || published.Folder != e.Folder:
		c.Op = plan.Changed
	}
	return c, nil
}

// compareWhole determines whether nothing of the published objects stays.
func (c *TargetChange) compareWhole(old, now []byte) {
	lost := 0
	for _, o := range c.Objects {
		if o.Op == plan.Removed {
			lost++
		}
	}
	if lost > 0 && lost == len(documents(old)) {
		c.emptied = len(documents(now)) == 0
		c.replaced = !c.emptied
	}
}

// old returns the published content of a file; nil for a new file.
func (d *Draft) old(c bundle.Change) ([]byte, error) {
	if c.Old == (bundle.Hash{}) {
		return nil, nil
	}
	return d.work.gitops.read(c.Path)
}

// published returns the published manifests among a target's files.
func (d *Draft) published(files []bundle.File) ([]byte, error) {
	for _, f := range files {
		if name := path.Base(f.Path); name == "manifests.yaml" || name == "gen_manifests.yaml" {
			return d.work.gitops.read(f.Path)
		}
	}
	return nil, nil
}

// legacy returns the manifests that are published elsewhere for a target with a new path: in another folder, or under
// the file name of the original scheduler.
func (d *Draft) legacy(name, folder string) ([]byte, error) {
	t := d.work.gitops.target(name, folder)
	if t == nil {
		return nil, nil
	}
	return d.published(t.Files)
}

// target returns the published target called name or, if there is none,
// the one in the folder; nil if there is neither.
func (g *GitOps) target(name, folder string) *tree.PublishedTarget {
	if g.Published == nil {
		return nil
	}
	for _, same := range []func(t tree.PublishedTarget) bool{
		func(t tree.PublishedTarget) bool { return t.Name == name }, func(t tree.PublishedTarget) bool { return t.Folder == folder },
	} {
		if i := slices.IndexFunc(g.Published.Targets, same); i >= 0 {
			return &g.Published.Targets[i]
		}
	}
	return nil
}

// publishedValues returns the values in a published file; none if it cannot be read.
func publishedValues(content []byte) []values.Key {
	layer, problems := values.Parse("gitops", values.FileName, content)
	if len(problems) > 0 {
		return nil
	}
	return values.Compose([]*values.Layer{layer}, nil).Keys
}

// changedValues compares published values with composed ones.
func changedValues(old []byte, keys []values.Key) []ValueChange {
	was, is, from := map[string]string{}, map[string]string{}, map[string]fleet.Position{}
	for _, k := range publishedValues(old) {
		was[k.Path] = k.Value
	}
	for _, k := range keys {
		is[k.Path], from[k.Path] = k.Value, k.From
	}
	var changes []ValueChange
	for _, c := range plan.CompareConfig(was, is, func(key string) (_, _ fleet.Position) { return from[key], fleet.Position{} }) {
		changes = append(changes, ValueChange(c))
	}
	return changes
}

// redact hides credentials in values and in the differences of objects. What is published can contain some that were written
// before there were checks, and a change that removes them must not repeat them in a pull request.
func (p *Plan) redact() {
	hidden := map[string]string{} // many targets have the same values
	hide := func(key string, value *string) *string {
		if value == nil {
			return nil
		}
		id := key + ": " + *value
		text, known := hidden[id]
		if !known {
			text = check.RedactValue(key, *value)
			hidden[id] = text
		}
		return &text
	}
	for _, t := range p.Targets {
		for i, v := range t.Values {
			t.Values[i].Old, t.Values[i].New = hide(v.Key, v.Old), hide(v.Key, v.New)
		}
		for i := range t.Objects {
			t.Objects[i].redacted = true
		}
	}
}

// checkBudget determines whether the plan needs approval.
func (p *Plan) checkBudget(w *work) {
	r := plan.Removals{
		Left: p.Counts.Left(), Removed: p.Counts.Removed,
		Unit: "targets", Check: "the Workload names targets in " + p.Environment + ", and that they have objects",
	}
	if p.PinsOnly {
		r.Check = "this is intended"
	}
	for _, t := range p.Targets {
		if t.emptied {
			r.Left--
		}
		if t.emptied || t.replaced {
			r.Removed++
		}
	}
	p.removals = r.Removed
	if w.gitops.Published != nil {
		r.Published = len(w.gitops.Published.Targets)
	}
	r.Budget, _ = fleet.ParseDeletionBudget("", w.app.Delivery.Spec.GitOps.DeletionBudget) // errors were reported when it was read
	budget, refusals := r.Evaluate()
	p.Budget = budget.Allowed
	for _, refusal := range refusals {
		p.Refusals = append(p.Refusals, refusal.Message)
	}
	if len(p.Refusals) > 0 {
		p.Approval = "to approve it, add the label " + pullrequest.LabelAllowDeletions + " to the pull request, which is not merged before"
	}
}

// Title returns a one-line summary, for the pull request.
func (p *Plan) Title() string {
	if p.PinsOnly {
		return p.pinsTitle()
	}
	what := "configure"
	if p.Promotes() {
		what = "deliver"
	}
	return fmt.Sprintf("%s: %s %s %s (%s)", p.Environment, what, p.Workload, p.To.Name(), cmp.Or(p.Counts.String(), "records only"))
}
