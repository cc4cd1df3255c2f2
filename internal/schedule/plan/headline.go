package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

const (
	// maxSubject bounds what a headline says besides the counts, in characters.
	maxSubject = 72
	// namedKeys is how many configuration keys a headline names.
	namedKeys = 2
)

// Headline returns the title of a pull request or commit with the plan: what changes, and how many assignments.
//
//	dev: Move the west database (5 changed)
//
// subject is the first line of the message of the promoted commit; empty if it is not known. It is used if the plan promotes. Otherwise the
// headline names what the changes have in common, such as a configuration key or a target, and without that it is [Plan.Title].
func (p *Plan) Headline(subject string) string {
	what := p.common()
	if p.Promotion != nil {
		what = subjectOf(subject)
	}
	changed := Counts{Added: p.Counts.Added, Changed: p.Counts.Changed, Removed: p.Counts.Removed}
	switch {
	case what == "":
		return p.Title()
	case changed == Counts{}:
		return p.Environment + ": " + what
	}
	return fmt.Sprintf("%s: %s (%s)", p.Environment, what, changed.String())
}

// elsewhere matches the number of a pull request at the end of a subject. In another repository, it would be a link to another one.
var elsewhere = regexp.MustCompile(`\s*\([#!]\d+\)$`)

// subjectOf prepares the first line of a message for the title of a pull request in another repository.
func subjectOf(text string) string {
	text = markdown.Plain(elsewhere.ReplaceAllString(strings.TrimSpace(text), ""))
	if runes := []rune(text); len(runes) > maxSubject {
		text = strings.TrimSpace(string(runes[:maxSubject-1])) + "…"
	}
	return text
}

// common returns what all changes have in common; empty if that is not much.
func (p *Plan) common() string {
	var changes []*Change
	for i := range p.Assignments {
		if c := &p.Assignments[i]; c.Op != Held && c.Op != Unchanged {
			changes = append(changes, c)
		}
	}
	if len(changes) == 0 {
		return ""
	}
	all := func(same func(c *Change) bool) bool {
		return !slices.ContainsFunc(changes, func(c *Change) bool { return !same(c) })
	}
	first := changes[0]
	verb, oneOp := verbs[first.Op], all(func(c *Change) bool { return c.Op == first.Op })
	oneTarget, oneType := all(func(c *Change) bool { return c.Target == first.Target }), all(func(c *Change) bool { return c.ClusterType == first.ClusterType })
	switch {
	case !oneOp:
		return ""
	case first.Op == Changed && all(func(c *Change) bool { return len(c.Config) > 0 }):
		return "change " + keysOf(changes)
	case oneTarget && oneType:
		return subjectOf(fmt.Sprintf("%s %s on %s", verb, first.Title, first.ClusterType))
	case oneTarget:
		return subjectOf(verb + " " + first.Title)
	case oneType && p.opOf(first.ClusterType) == first.Op && first.Op != Changed:
		return subjectOf(verb + " cluster type " + first.ClusterType)
	case oneType:
		return subjectOf(fmt.Sprintf("%s targets on %s", verb, first.ClusterType))
	}
	return ""
}

// verbs say what happens to assignments.
var verbs = map[Op]string{Added: "add", Changed: "change", Removed: "remove"}

// opOf returns what happens to the folder of a cluster type.
func (p *Plan) opOf(clusterType string) Op {
	for _, ct := range p.ClusterTypes {
		if ct.Name == clusterType && ct.Cluster == "" {
			return ct.Op
		}
	}
	return Unchanged
}

// keysOf names the configuration keys that change, without their values.
func keysOf(changes []*Change) string {
	var keys []string
	for _, c := range changes {
		for _, one := range c.Config {
			keys = append(keys, one.Key)
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	named := keys[:min(len(keys), namedKeys)]
	text := strings.Join(named, " and ")
	if more := len(keys) - len(named); more > 0 {
		text = fmt.Sprintf("%s and %d more values", strings.Join(named, ", "), more)
	}
	return subjectOf(text)
}
