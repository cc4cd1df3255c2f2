package deliver

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

// MarkdownOptions select what a Markdown draft shows.
type MarkdownOptions struct {
	// Link returns the page of a commit; optional.
	Link func(repo, commit string) string
	// Approved leaves out the refusals: a reviewer has approved the removals.
	Approved bool
	// Limit is the maximum size in bytes; 0 means no limit.
	Limit int
}

// page is the text of a pull request: what must be read first, then differences as far as they fit.
type page struct {
	plan.Page
	draft *Draft
	o     MarkdownOptions
}

// Markdown returns the text for reviewers of a draft. It escapes everything that comes from repositories.
func (d *Draft) Markdown(o MarkdownOptions) string {
	m := &page{plan.Page{Limit: o.Limit, Rest: "There is more than fits here; `kalypso app plan` shows all of it."}, d, o}
	m.summary()
	m.targets()
	m.requests()
	m.pins()
	m.digests()
	m.values()
	m.restarts()
	m.drift()
	m.Problems(d.Plan.Problems, "target", "`kalypso app check` lists all of them")
	m.notices()
	m.Add(check.Markdown(d.Findings))
	m.Add(scan.Markdown(d.Scans))
	m.diffs()
	return m.String()
}

// summary writes what the pull request delivers.
func (m *page) summary() {
	p := m.draft.Plan
	what := "Configures " + markdown.Code(p.Workload) + " in"
	if p.Promotes() {
		what = "Delivers " + markdown.Code(p.Workload) + " to"
	}
	if p.PinsOnly {
		what = "Pins targets of " + markdown.Code(p.Workload) + " in"
	}
	m.Line("### %s %s: %d added, %d changed, %d removed, %d held\n", what, markdown.Code(p.Environment), p.Counts.Added, p.Counts.Changed, p.Counts.Removed, p.Counts.Held)
	m.Line("| | published | with this change |\n|---|---|---|")
	m.Line("| commit | %s | %s |", m.commit(p.From.Commit), m.commit(p.To.Commit))
	m.row("version", p.From.Version, p.To.Version)
	m.row("image", p.From.Image, p.To.Image)
	if c := m.draft.Config; c != nil && c.Input.Commit != "" {
		m.Line("| configuration | | %s |", m.link(c.Input.Repo, c.Input.Commit))
	}
	if !m.o.Approved {
		var refusals []plan.Refusal
		for _, r := range p.Refusals {
			refusals = append(refusals, plan.Refusal{Message: pullrequest.ToApprove(r)})
		}
		m.Refusals(refusals)
	}
}

func (m *page) row(name, old, now string) {
	if old != "" || now != "" {
		m.Line("| %s | %s | %s |", name, code(old), code(now))
	}
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return markdown.Code(text)
}

func (m *page) commit(sha string) string {
	if sha == "" {
		return ""
	}
	return m.link(m.draft.App.Request.Source, sha)
}

func (m *page) link(repo, sha string) string {
	if m.o.Link != nil {
		if url := m.o.Link(repo, sha); url != "" {
			return "[" + markdown.Code(fleet.ShortCommit(sha)) + "](" + url + ")"
		}
	}
	return markdown.Code(fleet.ShortCommit(sha))
}

// targets writes the changes of each target.
func (m *page) targets() {
	for i, t := range m.draft.Plan.Targets {
		switch i {
		case 0:
			m.Line("\n| | target | objects | images |\n|---|---|---|---|")
		case plan.MaxRows:
			m.Line("| | and %d more | | |", len(m.draft.Plan.Targets)-i)
			return
		}
		m.Line("| %s | %s | %s | %s |", t.Op, markdown.Code(t.Name), objects(t), plan.List(t.Images))
	}
}

// pins writes which targets do not follow the environment.
func (m *page) pins() {
	p := m.draft.Plan
	for i, t := range p.Pinned {
		switch i {
		case 0:
			m.Line("\n#### Pinned\n\nThese targets keep a revision, or are uninstalled, until they are deployed again.\n\n| target | | requested by |\n|---|---|---|")
		case plan.MaxRows:
			m.Line("| and %d more | | |", len(p.Pinned)-i)
			return
		}
		m.Line("| %s | %s | %s |", markdown.Code(t.Name), m.pinned(t.Pin), requestedBy(t.By, t.At))
	}
	if p.PinsOnly {
		m.Line("\nAll other targets stay as they are. Other changes of the environment wait until this is merged or closed.")
	}
}

// requests writes what was asked for, by whom, and what that replaced.
func (m *page) requests() {
	p := m.draft.Plan
	for i, t := range p.Requests {
		switch i {
		case 0:
			m.Line("\n#### Requests\n\n| target | wanted | requested by | instead of |\n|---|---|---|---|")
		case plan.MaxRows:
			m.Line("| and %d more | | | |", len(p.Requests)-i)
			return
		}
		var instead []string
		for _, r := range t.Instead {
			instead = append(instead, strings.TrimSuffix(m.pinned(r.Pin)+", requested by "+requestedBy(r.By, r.At), ", requested by "))
		}
		m.Line("| %s | %s | %s | %s |", markdown.Code(t.Name), m.pinned(t.Pin), requestedBy(t.By, t.At), strings.Join(instead, "; "))
	}
}

// pinned says what a target has.
func (m *page) pinned(p tree.Pin) string {
	switch {
	case p.Uninstalled:
		return "uninstalled"
	case p.IsZero():
		return "follows " + markdown.Code(m.draft.Plan.Environment)
	}
	return "keeps " + m.gitOpsCommit(p.Revision)
}

// requestedBy names a user and a time; empty if neither is known.
func requestedBy(by string, at time.Time) string {
	text := markdown.Escape(by)
	if !at.IsZero() {
		text = strings.TrimPrefix(text+", "+at.UTC().Format(requestTime), ", ")
	}
	return text
}

// requestTime is the form of the times of requests.
const requestTime = "2006-01-02 15:04 UTC"

func (m *page) gitOpsCommit(sha string) string { return m.link(m.draft.GitOps.Location.Repo, sha) }

func objects(t TargetChange) string {
	switch {
	case t.Op == plan.Held:
		return markdown.Escape(t.Reason.Message) + plan.At(t.Reason.Position)
	case len(t.Objects) == 0:
		return "records only"
	}
	var parts []string
	for _, op := range []plan.Op{plan.Added, plan.Changed, plan.Removed} {
		var names []string
		for _, o := range t.Objects {
			if o.Op == op {
				names = append(names, o.String())
			}
		}
		if len(names) > 0 {
			parts = append(parts, string(op)+" "+plan.List(names))
		}
	}
	return strings.Join(parts, "; ")
}

// digests writes the digests of the images.
func (m *page) digests() {
	for i, image := range slices.Sorted(maps.Keys(m.draft.Plan.Digests)) {
		switch i {
		case 0:
			m.Line("\n#### Images\n\n| image | digest now |\n|---|---|")
		case plan.MaxRows:
			m.Line("| and %d more | |", len(m.draft.Plan.Digests)-i)
			return
		}
		found := m.draft.Plan.Digests[image]
		text := code(found.Digest)
		if text == "" {
			text = "not known: " + markdown.Escape(found.Reason)
		}
		m.Line("| %s | %s |", markdown.Code(image), text)
	}
}

// values writes the composed values that change, with the targets that they change for.
func (m *page) values() {
	type row struct{ text string }
	var rows []row
	targets := map[row][]string{}
	for _, t := range m.draft.Plan.Targets {
		for _, v := range t.Values {
			r := row{fmt.Sprintf("| %s | %s | %s | %s |", markdown.Code(v.Key), plan.Value(v.Old), plan.Value(v.New), written(v.From))}
			if targets[r] == nil {
				rows = append(rows, r)
			}
			targets[r] = append(targets[r], t.Name)
		}
	}
	if len(rows) == 0 {
		return
	}
	m.Line("\n#### Configuration\n\n| value | old | new | written at | targets |\n|---|---|---|---|---|")
	for i, r := range rows {
		if i == plan.MaxRows {
			m.Line("| and %d more | | | | |", len(rows)-i)
			return
		}
		m.Line("%s %s |", r.text, plan.List(targets[r]))
	}
}

// restarts writes which workloads restart, who gets changed ConfigMaps and Secrets without a restart, and which Secrets stay. Targets with the same effects share a row.
func (m *page) restarts() {
	var rows []string
	targets := map[string][]string{}
	add := func(target, format string, args ...any) {
		row := fmt.Sprintf(format, args...)
		if targets[row] == nil {
			rows = append(rows, row)
		}
		targets[row] = append(targets[row], target)
	}
	for _, t := range m.draft.Plan.Targets {
		if len(t.Restarts) > 0 {
			add(t.Name, "| %s | restart |", plan.List(t.Restarts))
		}
		for _, c := range t.Configs {
			add(t.Name, "| %s | %s |", markdown.Code(c.String()), markdown.Escape(strings.Join(c.Sentences(), "; ")))
		}
	}
	for _, t := range m.draft.Plan.Targets {
		for _, name := range t.Stays {
			add(t.Name, "| %s | stays in the clusters, where it was made; delete it there if it's not needed |", markdown.Code("Secret/"+name))
		}
	}
	for i, row := range rows {
		switch i {
		case 0:
			m.Line("\n#### Restarts\n\n| object | effect | targets |\n|---|---|---|")
		case plan.MaxRows:
			m.Line("| and %d more | | |", len(rows)-i)
			return
		}
		m.Line("%s %s |", row, plan.List(targets[row]))
	}
}

// written returns where a value is set: a file, or another origin such as a flag.
func written(p fleet.Position) string {
	if p.File == "" {
		return code(p.Source)
	}
	return markdown.Code(p.String())
}

func (m *page) drift() {
	outcome := "restored; the label `" + LabelKeepDrift + "` keeps it"
	if m.draft.Plan.KeepsDrift {
		outcome = "kept, by the label `" + LabelKeepDrift + "`"
	}
	m.Drift(m.draft.Plan.Drift, outcome)
}

// maxNotices is the maximum number of notices, maxNotice the maximum size of each in bytes.
const (
	maxNotices = 20
	maxNotice  = 500
)

// ownPort matches the local address in network errors. Its port differs each time.
var ownPort = regexp.MustCompile(`\S+:\d+->`)

// notices writes notices, such as that a chart may be outdated because its repository does not answer. A notice about
// several targets is written once.
func (m *page) notices() {
	seen := map[string]bool{}
	for _, p := range m.draft.Plan.Problems {
		if p.Severity != fleet.SeverityNotice {
			continue
		}
		message := ownPort.ReplaceAllString(p.Message, "")
		if len(message) > maxNotice {
			message = strings.ToValidUTF8(message[:maxNotice], "") + "…"
		}
		line := fmt.Sprintf("- %s%s", markdown.Escape(message), plan.At(p.Position))
		if p.Object.Name != "" {
			line = fmt.Sprintf("- %s: %s%s", markdown.Code(p.Object.Kind+"/"+p.Object.Name), markdown.Escape(message), plan.At(p.Position))
		}
		if seen[line] {
			continue
		}
		seen[line] = true
		switch {
		case len(seen) == 1:
			m.Line("\n#### Notices\n")
		case len(seen) > maxNotices:
			m.Line("- and more")
			return
		}
		m.Line("%s", line)
	}
}

// diffs writes the differences of the manifests as far as they fit.
// Targets with the same differences share one block.
func (m *page) diffs() {
	var texts []string
	targets := map[string][]string{}
	for _, t := range m.draft.Plan.Targets {
		if t.Op == plan.Held || len(t.Objects) == 0 {
			continue
		}
		text := diffOf(t)
		if targets[text] == nil {
			texts = append(texts, text)
		}
		targets[text] = append(targets[text], t.Name)
		if m.Limit > 0 && len(texts) > maxFolds {
			break // they would not fit
		}
	}
	for _, text := range texts {
		m.Fold(forge.Cut(strings.Join(targets[text], ", "), maxTitle), text)
	}
}

const (
	// maxTitle is the maximum length of the title of a fold, in characters.
	maxTitle = 200
	// maxFolds is the maximum number of folds on a page with a limit.
	maxFolds = 50
	// maxDiff is the maximum size of the differences of one target, in bytes.
	maxDiff = 30_000
)

func diffOf(t TargetChange) string {
	var b strings.Builder
	for _, o := range t.Objects {
		fmt.Fprintf(&b, "%s %s\n%s", o.Op, o, o.Diff())
		if b.Len() > maxDiff {
			text := b.String()[:maxDiff]
			return text[:strings.LastIndexByte(text, '\n')+1] + "… and more\n"
		}
	}
	return b.String()
}

// message returns the commit message.
func (d *Draft) message() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nRendered by Kalypso from the source of %s.\n\n", d.Plan.Title(), d.App.Workload.Name)
	for i, r := range d.Plan.Requests {
		if i == plan.MaxRows {
			fmt.Fprintf(&b, "and %d more\n", len(d.Plan.Requests)-i)
			break
		}
		fmt.Fprintln(&b, r.sentence(d.Plan.Environment))
	}
	if len(d.Plan.Requests) > 0 {
		fmt.Fprintln(&b)
	}
	trailer := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	for _, i := range d.Inputs() {
		if i.Commit != "" && !d.Plan.PinsOnly { // what a pinned target has was not made from them
			trailer("Kalypso-Inputs", i.Name+"@"+i.Commit)
		}
	}
	trailer("Kalypso-Version", d.Build.Version)
	trailer("Kalypso-Image", d.Build.Image)
	return b.String()
}
