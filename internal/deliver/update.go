package deliver

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v3"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

// Update is a third-party chart with a newer version. Charts with a version range have no updates, because the newest
// matching version is used anyway.
type Update struct {
	// Service is the name of the service; empty for the chart of an application.
	Service string `json:"service,omitempty"`
	Chart   string `json:"chart"`
	From    string `json:"from"`
	To      string `json:"to"`
	// Position is where the version is written.
	Position fleet.Position `json:"position"`

	content []byte // of the file, with this update and the previous ones
}

// Updated holds the updates and what they change.
type Updated struct {
	Updates []Update `json:"updates"`
	// Plans are those of the environments. Errors are those of the environments that cannot be read, by name.
	Plans  []*Plan           `json:"plans"`
	Errors map[string]string `json:"errors,omitempty"`
	// Did lists what was done, and PullRequest is the open pull request; nil if there is none.
	Did         []string           `json:"did,omitempty"`
	PullRequest *forge.PullRequest `json:"-"`

	app *Application
}

// exactVersion matches a version, but not a range.
var exactVersion = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+([-+].*)?$`)

// Updates finds newer versions of third-party charts, and what they change in each environment.
func (d *Drafter) Updates(ctx context.Context, r Request) (*Updated, error) {
	a, err := d.Loader.Application(ctx, r, "")
	if err != nil {
		return nil, err
	}
	u := &Updated{Updates: []Update{}, Plans: []*Plan{}, app: a}
	source, err := d.Loader.Repositories.Source(ctx, schedule.Location{Repo: r.Source, Folder: r.SourceFolder, Branch: r.Branch})
	if err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	source = source.OfApplication()
	files := map[string][]byte{}
	for _, c := range charts(a.Delivery) {
		update, err := d.newer(ctx, a, c, source, files)
		if err != nil {
			return nil, err
		}
		if update != nil {
			u.Updates = append(u.Updates, *update)
			files[update.Position.File] = update.content
		}
	}
	if len(u.Updates) == 0 {
		return u, nil
	}
	return u, d.compare(ctx, u, r, files)
}

// charts returns the third-party charts, with the names of their services.
func charts(delivery *app.Delivery) []app.Service {
	all := slices.Clone(delivery.Spec.Services)
	if c := delivery.Spec.Chart; c != nil {
		all = append(all, app.Service{Chart: *c})
	}
	return slices.DeleteFunc(all, func(s app.Service) bool {
		return s.Chart.Repository == "" || !exactVersion.MatchString(s.Chart.Version)
	})
}

// newer returns the newer version of a chart in its chart repository; nil if there is none.
func (d *Drafter) newer(ctx context.Context, a *Application, s app.Service, source fleet.Source, files map[string][]byte) (*Update, error) {
	d.Loader.progress("asking for versions of %s", s.Chart.Name)
	versions, err := d.Loader.Charts.Versions(ctx, s.Chart)
	if err != nil {
		return nil, fmt.Errorf("find the versions of the chart %q: %w", s.Chart.Name, err)
	}
	i := slices.IndexFunc(versions, func(v string) bool { return exactVersion.MatchString(v) && !strings.Contains(v, "-") })
	if i < 0 || !later(versions[i], s.Chart.Version) {
		return nil, nil
	}
	u := &Update{Service: s.Name, Chart: s.Chart.Name, From: s.Chart.Version, To: versions[i]}
	for _, f := range source.Files {
		content, edited := files[f.Path]
		if !edited {
			if content, err = f.Read(); err != nil {
				return nil, fmt.Errorf("read %q: %w", f.Path, err)
			}
		}
		if line, now := bump(content, a.Workload.Name, s, u.To); line > 0 {
			u.Position, u.content = fleet.Position{Source: "source", File: f.Path, Line: line}, now
			return u, nil
		}
	}
	return nil, fmt.Errorf("where the version %s of the chart %q is written was not found", u.From, s.Chart.Name)
}

// later reports whether a is a later version than b.
func later(a, b string) bool {
	x, err := semver.NewVersion(a)
	if err != nil {
		return false
	}
	y, err := semver.NewVersion(b)
	return err == nil && x.GreaterThan(y)
}

// bump replaces a chart's version in a file, in place: comments and order
// stay. line is 0 if the file does not have the version.
func bump(content []byte, workload string, s app.Service, version string) (line int, now []byte) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var document yaml.Node
		if decoder.Decode(&document) != nil {
			return 0, nil
		}
		node := versionOf(&document, workload, s)
		if node == nil || node.Line == 0 || node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			continue
		}
		lines := bytes.SplitAfter(content, []byte("\n"))
		text := lines[node.Line-1]
		from := min(max(node.Column-1, 0), len(text))
		replaced := bytes.Replace(text[from:], []byte(node.Value), []byte(version), 1)
		lines[node.Line-1] = append(bytes.Clone(text[:from]), replaced...)
		return node.Line, bytes.Join(lines, nil)
	}
}

// versionOf finds the version of a chart in a Delivery, or in a service file
// of the original scheduler; nil if it is not there.
func versionOf(document *yaml.Node, workload string, s app.Service) *yaml.Node {
	is := func(at *yaml.Node, value string) bool { return at != nil && at.Value == value }
	if is(entry(document, "kind"), "Delivery") && (is(entry(document, "spec", "workload"), workload) || is(entry(document, "metadata", "name"), workload)) {
		if s.Name == "" {
			return entry(document, "spec", "chart", "version")
		}
		if services := entry(document, "spec", "services"); services != nil {
			for _, item := range services.Content {
				if is(entry(item, "name"), s.Name) {
					return entry(item, "chart", "version")
				}
			}
		}
		return nil
	}
	if is(entry(document, "name"), s.Name) && is(entry(document, "helm", "version"), s.Chart.Version) {
		return entry(document, "helm", "version")
	}
	return nil
}

// entry returns the node at a path of keys; nil if there is none.
func entry(node *yaml.Node, keys ...string) *yaml.Node {
	if node.Kind == yaml.DocumentNode && len(node.Content) == 1 {
		node = node.Content[0]
	}
	for _, key := range keys {
		if node.Kind != yaml.MappingNode {
			return nil
		}
		var found *yaml.Node
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == key {
				found = node.Content[i+1]
			}
		}
		if node = found; node == nil {
			return nil
		}
	}
	return node
}

// compare plans the updates for each environment, compared to its branch without them.
func (d *Drafter) compare(ctx context.Context, u *Updated, r Request, files map[string][]byte) error {
	loader := *d.Loader
	loader.Repositories = edited{d.Loader.Repositories, r.Source, files}
	for _, name := range u.app.Environments() {
		drafter := &Drafter{Loader: &loader, Renderer: d.Renderer, Policies: d.Policies}
		draft, err := drafter.Draft(ctx, DraftRequest{Request: r, Environment: name})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if u.Errors == nil {
				u.Errors = map[string]string{}
			}
			u.Errors[name] = err.Error()
			continue
		}
		u.Plans = append(u.Plans, draft.Plan)
	}
	return nil
}

// edited are repositories in which some files at the head of one of them are replaced.
type edited struct {
	Repositories
	repo  string
	files map[string][]byte
}

// Source implements [Repositories].
func (e edited) Source(ctx context.Context, at schedule.Location) (fleet.Source, error) {
	source, err := e.Repositories.Source(ctx, at)
	if err != nil || at.Repo != e.repo {
		return source, err
	}
	source = source.OfApplication()
	for i, f := range source.Files {
		if content, ok := e.files[f.Path]; ok {
			source.Files[i].ID, source.Files[i].Size = bundle.HashOf(content).String(), int64(len(content))
			source.Files[i].Read = func() ([]byte, error) { return content, nil }
		}
	}
	return source, nil
}

// updateBranch is the head branch of the pull request with newer versions.
const updateBranch = "kalypso-update/charts"

// ProposeUpdates opens or updates the source's pull request with the newer versions. Without updates, it closes it.
func (d *Deliverer) ProposeUpdates(ctx context.Context, u *Updated) error {
	a := u.app
	base := schedule.Location{Repo: a.Request.Source, Branch: a.Source.Branch}
	pull := &pullrequest.PullRequest{
		Committer: d.Committer, URL: a.Request.Source,
		Base: a.Source.Branch, Commit: a.Source.Commit, Time: a.Source.Time, Head: updateBranch, Name: a.Workload.Name,
		Fork: func(ctx context.Context, ref, commit string) (string, error) {
			return d.Loader.Repositories.Fork(ctx, base, ref, commit)
		},
	}
	if err := pull.Locate(d.Forges); err != nil {
		return fmt.Errorf("find the source repository: %w", err)
	}
	if err := pull.Find(ctx); err != nil {
		return err
	}
	var err error
	if len(u.Updates) == 0 {
		err = pull.Withdraw(ctx, "Every chart is at its newest version.")
	} else {
		err = pull.Propose(ctx, u.proposal(a))
	}
	u.PullRequest, u.Did = pull.Open, pull.Did
	return err
}

// proposal returns the pull request of the source.
func (u *Updated) proposal(a *Application) pullrequest.Proposal {
	put, digest := map[string][]byte{}, a.Workload.Name
	for _, update := range u.Updates {
		put[update.Position.File] = update.content
		digest += " " + update.Service + "@" + update.To
	}
	return pullrequest.Proposal{
		Put: put, Message: u.title() + "\n", When: a.Source.Time, Title: u.title(), Body: u.body, Digest: digest,
		Inputs: map[string]string{"source": a.Source.Commit},
	}
}

func (u *Updated) title() string {
	if len(u.Updates) == 1 {
		one := u.Updates[0]
		return fmt.Sprintf("Update %s from %s to %s", one.Chart, one.From, one.To)
	}
	return fmt.Sprintf("Update %d charts", len(u.Updates))
}

// body lists the versions and what they change.
func (u *Updated) body(limit int) string {
	p := plan.Page{Limit: limit, Rest: "What else changes does not fit here; `kalypso app update --dry-run` shows it."}
	p.Line("| chart | from | to | written at |\n|---|---|---|---|")
	for _, one := range u.Updates {
		p.Line("| %s | %s | %s | %s |", markdown.Code(one.Chart), markdown.Code(one.From), markdown.Code(one.To), markdown.Code(one.Position.String()))
	}
	for _, name := range slices.Sorted(maps.Keys(u.Errors)) {
		p.Line("\nWhat it changes in %s is not known: %s", markdown.Code(name), markdown.Escape(u.Errors[name]))
	}
	for _, e := range u.Plans {
		p.Line("\n#### %s: %d changed, %d held", markdown.Escape(e.Environment), e.Counts.Added+e.Counts.Changed, e.Counts.Held)
		for _, t := range e.Targets {
			if t.Op == plan.Held {
				p.Fold(t.Name, t.Reason.Message+"\n")
			} else {
				p.Fold(t.Name, diffOf(t))
			}
		}
	}
	return p.String()
}
