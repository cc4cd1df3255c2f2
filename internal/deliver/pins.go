package deliver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// A pinned target keeps the files of one of its revisions, or has none, while the others of its environment move on. The inventory of the
// GitOps branch says which targets are pinned, so that a pin is proposed, reviewed and merged like anything else. A pull request that
// changes pins changes nothing else: rolling one target back must not carry along what waits in the environment.

// pinned is a pinned target with the files of its revision; both nil for one that is uninstalled.
type pinned struct {
	tree.Pin
	files []bundle.File
	// objects counts the manifests in files that were rendered again; 0 otherwise.
	objects int
	// err is why the files cannot be read.
	err error
}

// pin determines which targets are pinned, and reads the files that they keep. wanted are the pins; nil for those that are published.
func (l *Loader) pin(ctx context.Context, w *work, wanted map[string]tree.Pin) error {
	published := w.gitops.Published.Pins()
	if wanted == nil {
		wanted = published
	}
	w.pins = map[string]pinned{}
	revisions := map[string]*GitOps{}
	for _, i := range w.app.targetsIn(w.environment) {
		name := w.app.Workload.Spec.DeploymentTargets[i].Name
		pin := wanted[name]
		if pin != published[name] {
			if w.only == nil {
				w.only = map[string]bool{}
			}
			w.only[name] = true
		}
		if pin.IsZero() {
			continue
		}
		p := pinned{Pin: pin}
		if now := w.gitops.target(name, name); pin == published[name] && !pin.Uninstalled && !w.gitops.Published.Drifted(name) && now != nil {
			p.files = now.Files
		} else if !pin.Uninstalled {
			p.files, p.err = l.pinnedFiles(ctx, w, name, pin, revisions)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		w.pins[name] = p
	}
	w.leavePinned()
	return nil
}

// keepPinned pins targets to files that are known.
func (w *work) keepPinned(pins map[string]pinned) {
	w.pins = pins
	w.leavePinned()
}

// leavePinned renders no targets that are pinned, or not asked for.
func (w *work) leavePinned() {
	for _, p := range w.parts {
		p.job.Targets = slices.DeleteFunc(p.job.Targets, func(t chart.Target) bool {
			return !w.pins[t.Name].IsZero() || w.only != nil && !w.only[t.Name]
		})
	}
}

// pinnedFiles reads the files of a target at a commit of the GitOps branch. read has the commits that were read.
func (l *Loader) pinnedFiles(ctx context.Context, w *work, target string, pin tree.Pin, read map[string]*GitOps) ([]bundle.File, error) {
	g := read[pin.Revision]
	if g == nil {
		at := w.gitops.Location
		on, err := l.Repositories.Contains(ctx, schedule.Location{Repo: at.Repo, Branch: at.Branch}, pin.Revision)
		if err == nil && !on {
			err = errors.New("it is not on the branch: it was not merged, or the branch was rewritten")
		}
		if err == nil {
			a := *w.app
			a.Request.GitOpsCommit = pin.Revision
			g, err = l.GitOps(ctx, &a, w.environment)
		}
		if err != nil {
			return nil, fmt.Errorf("read revision %s: %w", fleet.ShortCommit(pin.Revision), err)
		}
		read[pin.Revision] = g
	}
	found := g.target(target, target)
	if found == nil || found.Name != target || len(found.Files) == 0 {
		return nil, fmt.Errorf("revision %s has no files of the target", fleet.ShortCommit(pin.Revision))
	}
	var files []bundle.File
	for _, f := range found.Files {
		content, err := g.read(f.Path)
		if err != nil {
			return nil, fmt.Errorf("read %q of revision %s: %w", f.Path, fleet.ShortCommit(pin.Revision), err)
		}
		files = append(files, bundle.NewFile(f.Path, content))
	}
	return files, nil
}

// OtherChangesError is returned if targets cannot be pinned because the open pull request of their environment proposes something else.
type OtherChangesError struct {
	Environment string
	PullRequest forge.PullRequest
}

// Error names the pull request.
func (e *OtherChangesError) Error() string {
	return fmt.Sprintf("pull request %d of %s is open and proposes other changes (%s)", e.PullRequest.Number, e.Environment, e.PullRequest.URL)
}

// Hint says what to do.
func (e *OtherChangesError) Hint() string {
	return "merge it or close it first; what it proposes is proposed again when the targets are as they should be"
}

// identifyPins determines which pins are wanted: those of the inventory, those that the open pull request proposes, and those of the request.
func (r *round) identifyPins(ctx context.Context) error {
	g := r.outcome.GitOps
	published, wanted := g.Published.Pins(), g.Published.Pins()
	requests := map[string]tree.Request{}
	proposes := r.pull.Published().Inputs[inputPins] != ""
	if proposes {
		proposed, asked, err := r.Loader.proposedPins(ctx, r.outcome, r.pull.Head, r.pull.Published().Commit)
		if err != nil {
			return err
		}
		if proposed != nil {
			wanted, requests = proposed, asked
		}
	}
	r.replacePins(published, wanted, requests)
	known := func(pins map[string]tree.Pin) {
		maps.DeleteFunc(pins, func(name string, _ tree.Pin) bool { return !r.outcome.App.hasTarget(r.request.Environment, name) })
	}
	known(published)
	if known(wanted); maps.Equal(published, wanted) {
		if proposes { // nothing of it is left: the pull request becomes that of the environment's other changes, or is closed
			r.byHand = r.request.ByHand
			if r.request.Build.Commit == "" {
				r.outcome.Build = g.Build
			}
		}
		return nil
	}
	if len(r.request.Pins) > 0 && r.pull.Open != nil && !proposes {
		return &OtherChangesError{r.request.Environment, *r.pull.Open}
	}
	if b := r.request.Build; b.Commit != "" && b.Commit != g.Build.Commit {
		r.outcome.Waits = fmt.Sprintf("%s waits until the pull request that pins targets is merged or closed", b.Name())
	}
	r.pins, r.requests, r.byHand, r.outcome.Build = wanted, requests, true, g.Build
	return nil
}

// replacePins changes the wanted pins to those of the request. A request that the pull request has already stays that of who asked first.
func (r *round) replacePins(published, wanted map[string]tree.Pin, requests map[string]tree.Request) {
	for name, pin := range r.request.Pins {
		was := wanted[name]
		if was == pin {
			continue
		}
		asked := r.request.Asked
		if was != published[name] {
			if r.outcome.Replaced == nil {
				r.outcome.Replaced = map[string]PinnedTarget{}
			}
			r.outcome.Replaced[name] = PinnedTarget{name, was, requests[name]}
			asked = asked.Over(requests[name], was)
		}
		requests[name] = asked
		if wanted[name] = pin; pin.IsZero() {
			delete(wanted, name)
		}
	}
}

func (a *Application) hasTarget(environment, name string) bool {
	return slices.ContainsFunc(a.targetsIn(environment), func(i int) bool { return a.Workload.Spec.DeploymentTargets[i].Name == name })
}

// proposedPins returns the pins in the inventory of a commit that a pull request proposes, and who asked for them; nil if the commit does
// not exist any more.
func (l *Loader) proposedPins(ctx context.Context, o *Outcome, head, commit string) (pins map[string]tree.Pin, requests map[string]tree.Request, err error) {
	at := o.GitOps.Location
	inventory := tree.InventoryPath(at.Path, o.App.Workload.Name)
	files, err := l.Repositories.Files(ctx, schedule.Location{Repo: at.Repo, Branch: head, Commit: commit, Path: path.Dir(inventory)})
	if errors.Is(err, schedule.ErrNoBranch) || errors.Is(err, schedule.ErrNoCommit) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read what the pull request proposes: %w", err)
	}
	pins, requests = map[string]tree.Pin{}, map[string]tree.Request{}
	if !slices.ContainsFunc(files.Entries, func(e Entry) bool { return e.Path == inventory && !e.Symlink }) {
		return pins, requests, nil
	}
	content, err := files.Read(inventory)
	if err != nil {
		return nil, nil, fmt.Errorf("read what the pull request proposes: %w", err)
	}
	targets, _, err := tree.ParseInventory(content, o.App.Workload.Name)
	if err != nil {
		return nil, nil, nil //nolint:nilerr // what Kalypso did not write is replaced
	}
	for _, t := range targets {
		requests[t.Name] = t.Request
		if !t.Pin.IsZero() {
			pins[t.Name] = t.Pin
		}
	}
	return pins, requests, nil
}

// pinsTitle is the title of a plan that only changes pins.
func (p *Plan) pinsTitle() string {
	whats := map[string]int{}
	for _, r := range p.repinned {
		switch {
		case r.IsZero():
			whats["deploy"]++
		case r.Uninstalled:
			whats["uninstall"]++
		default:
			whats["roll back"]++
		}
	}
	what, n := "change", len(p.repinned)
	if len(whats) == 1 {
		what = slices.Collect(maps.Keys(whats))[0]
	}
	title := fmt.Sprintf("%s: %s %d targets of %s", p.Environment, what, n, p.Workload)
	switch n {
	case 0: // all are held
		title = fmt.Sprintf("%s: %s targets of %s", p.Environment, what, p.Workload)
	case 1:
		title = fmt.Sprintf("%s: %s %s %s", p.Environment, what, p.Workload, p.repinned[0].Name)
	}
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(whats)) {
		if len(whats) > 1 {
			parts = append(parts, fmt.Sprintf("%s %d", what, whats[what]))
		}
	}
	if len(p.Targets) == 0 {
		parts = append(parts, "records only")
	}
	if len(parts) > 0 {
		title += " (" + strings.Join(parts, ", ") + ")"
	}
	return title
}

// asks reports whether the pull request has a request for a target.
func (d *Draft) asks(target string) bool {
	w := d.work
	if w.only == nil {
		return false
	}
	request, asked := w.requests[target]
	return w.only[target] || asked && !request.Same(w.gitops.Published.Requests()[target])
}

// requestOf returns who asks, or asked, for the pin of a target.
func (d *Draft) requestOf(target string) tree.Request {
	if request, ok := d.work.requests[target]; ok {
		return request
	}
	return d.work.gitops.Published.Requests()[target]
}

// What says what the target has, with who asked for it: "uninstalled, requested by ada". environment is the one that it follows without a pin.
func (t PinnedTarget) What(environment string) string {
	return what(t.Pin, t.By, environment)
}

func what(pin tree.Pin, by, environment string) string {
	text := pin.String()
	if pin.IsZero() {
		text = "follows " + environment
	}
	if by != "" {
		text += ", requested by " + by
	}
	return text
}

// sentence names the target, what was asked for, by whom, and what that replaced, in one line.
func (t PinnedTarget) sentence(environment string) string {
	text := t.Name + ": " + t.What(environment)
	for _, r := range t.Instead {
		text += "; instead of: " + what(r.Pin, r.By, environment)
	}
	return text
}
