package deliver

import (
	"fmt"
	"html"
	"regexp"
	"strings"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

// MarkdownOptions say how much of a draft is shown.
type MarkdownOptions struct {
	// Links of commits, by the names of the inputs; nil for none.
	Link func(repo, commit string) string
	// Agreed is that a person agreed to the removals.
	Agreed bool
	// Limit is the most characters; what does not fit is left out and said. 0 means no limit.
	Limit int
}

// page is the text of a change: what must be read first, and differences for as long as there is room.
type page struct {
	strings.Builder
	draft *Draft
	o     MarkdownOptions
}

// maxRows is how many rows a table has; more cannot be read.
const maxRows = 100

// Markdown is the text by which people review a draft. What comes from repositories is escaped:
// a name cannot become a link, a mention or HTML.
func (d *Draft) Markdown(o MarkdownOptions) string {
	m := &page{draft: d, o: o}
	m.summary()
	m.targets()
	m.values()
	m.drift()
	m.problems()
	m.notices()
	m.WriteString(check.Markdown(d.Findings))
	m.WriteString(scan.Markdown(d.Scans))
	footer := m.footer()
	m.diffs(len(footer))
	text := m.String() + footer
	if o.Limit > 0 && len(text) > o.Limit {
		return cutLines(m.String(), o.Limit-len(footer)-len(tooLong)) + tooLong + footer
	}
	return text
}

const tooLong = "\n\n*There is more than fits here; `kalypso app plan` shows all of it.*\n"

func cutLines(text string, limit int) string {
	if limit <= 0 {
		return ""
	}
	end := strings.LastIndexByte(text[:min(limit, len(text))], '\n')
	return text[:max(end, 0)]
}

func (m *page) line(format string, args ...any) {
	fmt.Fprintf(m, format, args...)
	m.WriteByte('\n')
}

// summary says what comes in.
func (m *page) summary() {
	p := m.draft.Plan
	what := "Configures " + markdown.Code(p.Workload) + " in"
	if p.Promotes() {
		what = "Delivers " + markdown.Code(p.Workload) + " to"
	}
	m.line("### %s %s: %d added, %d changed, %d removed, %d held\n", what, markdown.Code(p.Environment), p.Counts.Added, p.Counts.Changed, p.Counts.Removed, p.Counts.Held)
	m.line("| | published | with this change |\n|---|---|---|")
	m.line("| commit | %s | %s |", m.commit(p.From.Commit), m.commit(p.To.Commit))
	m.row("version", p.From.Version, p.To.Version)
	m.row("image", p.From.Image, p.To.Image)
	if c := m.draft.Config; c != nil && c.Input.Commit != "" {
		m.line("| configuration | | %s |", m.link(c.Input.Repo, c.Input.Commit))
	}
	if !m.o.Agreed {
		for _, r := range p.Refusals {
			m.line("\n> **This waits for a person:** %s; the label `%s` agrees", markdown.Escape(r), LabelAllowDeletions)
		}
	}
}

func (m *page) row(name, old, now string) {
	if old != "" || now != "" {
		m.line("| %s | %s | %s |", name, code(old), code(now))
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
			return "[" + markdown.Code(short(sha)) + "](" + url + ")"
		}
	}
	return markdown.Code(short(sha))
}

// targets lists what happens to each.
func (m *page) targets() {
	targets := m.draft.Plan.Targets
	if len(targets) == 0 {
		return
	}
	m.line("\n| | target | objects | images |\n|---|---|---|---|")
	for i, t := range targets {
		if i == maxRows {
			m.line("| | and %d more | | |", len(targets)-maxRows)
			return
		}
		m.line("| %s | %s | %s | %s |", t.Op, markdown.Code(t.Name), m.objects(t), list(t.Images))
	}
}

func list(names []string) string {
	const most = 5
	var all []string
	for i, n := range names {
		if i == most {
			all = append(all, fmt.Sprintf("%d more", len(names)-most))
			break
		}
		all = append(all, markdown.Code(n))
	}
	return strings.Join(all, ", ")
}

func (m *page) objects(t TargetChange) string {
	switch {
	case t.Op == Held:
		return markdown.Escape(t.Reason.Message) + at(t.Reason.Position)
	case len(t.Objects) == 0:
		return "records only"
	}
	var parts []string
	for _, op := range []Op{Added, Changed, Removed} {
		var names []string
		for _, o := range t.Objects {
			if o.Op == op {
				names = append(names, o.String())
			}
		}
		if len(names) > 0 {
			parts = append(parts, string(op)+" "+list(names))
		}
	}
	return strings.Join(parts, "; ")
}

func at(p fleet.Position) string {
	if p.File == "" {
		return ""
	}
	return " (" + markdown.Code(p.String()) + ")"
}

// values are the composed values that change, with the targets that they change for.
func (m *page) values() {
	type row struct{ text string }
	var rows []row
	targets := map[row][]string{}
	for _, t := range m.draft.Plan.Targets {
		for _, v := range t.Values {
			r := row{fmt.Sprintf("| %s | %s | %s | %s |", markdown.Code(v.Path), shown(v.Old), shown(v.New), written(v.From))}
			if targets[r] == nil {
				rows = append(rows, r)
			}
			targets[r] = append(targets[r], t.Name)
		}
	}
	if len(rows) == 0 {
		return
	}
	m.line("\n#### Configuration\n\n| value | old | new | written at | targets |\n|---|---|---|---|---|")
	for i, r := range rows {
		if i == maxRows {
			m.line("| and %d more | | | | |", len(rows)-maxRows)
			return
		}
		m.line("%s %s |", r.text, list(targets[r]))
	}
}

// written is where a value is written: a file, or what it was given by.
func written(p fleet.Position) string {
	if p.File == "" {
		return code(p.Source)
	}
	return markdown.Code(p.String())
}

func shown(value *string) string {
	if value == nil {
		return "*not set*"
	}
	return markdown.Code(*value)
}

func (m *page) drift() {
	p := m.draft.Plan
	if len(p.Drift) == 0 {
		return
	}
	what := "restored; the label `" + LabelKeepDrift + "` keeps it"
	if p.KeepsDrift {
		what = "kept, by the label `" + LabelKeepDrift + "`"
	}
	m.line("\n#### Changed by hand, and %s\n", what)
	for i, d := range p.Drift {
		if i == maxRows {
			m.line("- and %d more", len(p.Drift)-maxRows)
			return
		}
		deleted := ""
		if d.Deleted {
			deleted = " (deleted)"
		}
		m.line("- %s%s", markdown.Code(d.Path), deleted)
	}
}

func (m *page) problems() {
	rows := 0
	for _, p := range m.draft.Plan.Problems {
		if p.Severity == fleet.SeverityNotice {
			continue
		}
		switch rows++; {
		case rows == 1:
			m.line("\n#### Problems\n")
		case rows > maxRows:
			m.line("- and more")
			return
		}
		m.line("- **%s**%s %s: %s", p.Severity, at(p.Position), code(p.Assignment), markdown.Escape(p.Message))
	}
}

// maxNotices is how many notices are shown, and maxNotice how many bytes of each: what must be seen stands before them.
const (
	maxNotices = 20
	maxNotice  = 500
)

// ownPort is what errors of the network name before the address that was asked; it is another one each time.
var ownPort = regexp.MustCompile(`\S+:\d+->`)

// notices are what is worth knowing, such as a chart that is not the newest because its repository does not answer. What is said
// of several targets is said once.
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
		line := fmt.Sprintf("- %s%s", markdown.Escape(message), at(p.Position))
		if p.Object.Name != "" {
			line = fmt.Sprintf("- %s: %s%s", markdown.Code(p.Object.Kind+"/"+p.Object.Name), markdown.Escape(message), at(p.Position))
		}
		if seen[line] {
			continue
		}
		seen[line] = true
		switch {
		case len(seen) == 1:
			m.line("\n#### Notices\n")
		case len(seen) > maxNotices:
			m.line("- and more")
			return
		}
		m.line("%s", line)
	}
}

// diffs adds the differences of the manifests, folded, as far as they fit. Targets that change alike are shown once.
func (m *page) diffs(reserved int) {
	room := m.o.Limit - reserved - len(tooLong)
	seen := map[string]int{}
	var texts []string
	var names [][]string
	for _, t := range m.draft.Plan.Targets {
		if t.Op == Held || len(t.Objects) == 0 {
			continue
		}
		text := diffOf(t)
		i, known := seen[text]
		if !known {
			i = len(texts)
			seen[text], texts, names = i, append(texts, text), append(names, nil)
		}
		names[i] = append(names[i], t.Name)
		if m.o.Limit > 0 && len(texts) > maxFolds {
			break // they would not fit
		}
	}
	for i, text := range texts {
		fold := fold(strings.Join(names[i], ", "), text)
		if m.o.Limit > 0 && m.Len()+len(fold) > room {
			m.line("\n*The differences of %s and what follows do not fit here; `kalypso app plan --diff` shows them.*", list(names[i]))
			return
		}
		m.WriteString(fold)
	}
}

// maxFolds is how many different differences are looked at where the room is limited.
const maxFolds = 50

// maxDiff bounds what is shown of one target, in bytes.
const maxDiff = 30_000

func diffOf(t TargetChange) string {
	var b strings.Builder
	for _, o := range t.Objects {
		fmt.Fprintf(&b, "%s %s\n%s", o.Op, o, o.Diff())
		if b.Len() > maxDiff {
			return cutLines(b.String(), maxDiff) + "\n… and more\n"
		}
	}
	return b.String()
}

func fold(title, diff string) string {
	if len(title) > 200 {
		title = title[:strings.LastIndexByte(title[:200], ',')] + " and more"
	}
	return fmt.Sprintf("\n<details><summary>%s</summary>\n\n%s\n\n</details>\n", html.EscapeString(title), markdown.Block("diff", diff))
}

func (m *page) footer() string {
	var b strings.Builder
	base := m.draft.GitOps.Location.Branch
	fmt.Fprintf(&b, "\nMerging it publishes it: clusters follow %s. It is kept up to date while it is open, and what others push to its branch is replaced. "+
		"Closed, it stays closed until there is something else to propose.\n", markdown.Code(base))
	var names []string
	for _, i := range m.draft.Inputs() {
		names = append(names, i.String())
	}
	fmt.Fprintf(&b, "\n%sRendered by Kalypso from %s.</sub>\n", pullrequest.SourcePrefix, markdown.Code(strings.Join(names, ", ")))
	return b.String()
}

// message is that of the commit.
func (d *Draft) message() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nRendered by Kalypso from the source of %s.\n\n", d.Plan.Title(), d.App.Workload.Name)
	trailer := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	for _, i := range d.Inputs() {
		if i.Commit != "" {
			trailer("Kalypso-Inputs", i.Name+"@"+i.Commit)
		}
	}
	trailer("Kalypso-Version", d.Build.Version)
	trailer("Kalypso-Image", d.Build.Image)
	return b.String()
}
