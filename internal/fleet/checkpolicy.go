package fleet

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// checkLevels are the levels that a rule can have.
var checkLevels = []v1alpha1.CheckLevel{v1alpha1.CheckOff, v1alpha1.CheckInform, v1alpha1.CheckWarn, v1alpha1.CheckRefuse}

// checkCheckPolicy looks at what can be known without asking the rules: whether an expression is one shows when it is compiled.
func checkCheckPolicy(d *decoder, root *yaml.Node, p *v1alpha1.CheckPolicy) {
	for _, rule := range slices.Sorted(maps.Keys(p.Spec.Levels)) {
		oneOf(d, root, p.Spec.Levels[rule], checkLevels, "spec", "levels", rule)
	}
	names := map[string]bool{}
	d.named(root, "rules", "rule", len(p.Spec.Rules), names, func(i int, n *yaml.Node) string {
		d.require(n, "expression")
		oneOf(d, n, p.Spec.Rules[i].Level, checkLevels, "level")
		return p.Spec.Rules[i].Name
	})
	d.named(root, "scans", "scan", len(p.Spec.Scans), names, func(i int, n *yaml.Node) string {
		d.scan(n, &p.Spec.Scans[i])
		return p.Spec.Scans[i].Name
	})
}

// named looks at the elements of a list of the specification, each of which has a name of its own.
func (d *decoder) named(root *yaml.Node, list, what string, elements int, names map[string]bool, look func(i int, n *yaml.Node) (name string)) {
	written := lookup(root, "spec", list)
	for i := range elements {
		if written == nil || i >= len(written.Content) {
			return
		}
		n := written.Content[i]
		d.within("spec."+list+"["+strconv.Itoa(i)+"]", func() {
			d.require(n, "name")
			d.name(n, dnsLabel, "name")
			name := look(i, n)
			if names[name] {
				d.fail(KindDuplicate, n, "give each rule and each scan a name of its own", "the %s %s is there twice", what, quoteShort(name))
			}
			names[name] = true
		})
	}
}

// scan looks at what a scan does.
func (d *decoder) scan(n *yaml.Node, s *v1alpha1.CheckScan) {
	d.require(n, "what")
	oneOf(d, n, s.What, []v1alpha1.ScanSubject{v1alpha1.ScanImages, v1alpha1.ScanCharts}, "what")
	d.require(n, "command", "args")
	oneOf(d, n, s.Level, checkLevels, "level")
	if t := s.Command.Timeout; t != nil && t.Duration <= 0 {
		d.fail(KindInvalidValue, lookup(n, "command", "timeout"), "", "%s is %s, want more", d.field("command", "timeout"), t.Duration)
	}
	for i, arg := range s.Command.Args {
		if i == 0 && strings.ContainsAny(arg, "{}") {
			d.fail(KindInvalidValue, n, "name the program itself", "%s has a placeholder in the name of its program", d.field("command"))
		}
		if s.What == v1alpha1.ScanImages && strings.Contains(arg, v1alpha1.ScanPath) {
			d.fail(KindInvalidValue, n, "let the program fetch "+v1alpha1.ScanReference, "%s asks for the files of an image with %s, and only charts are there as files",
				d.field("command"), v1alpha1.ScanPath)
		}
	}
	for _, code := range s.Command.ExitCodes {
		if code < 1 || code > 255 {
			d.fail(KindInvalidValue, lookup(n, "command", "exitCodes"), "", "%s has %d, want 1 to 255", d.field("command", "exitCodes"), code)
		}
	}
}
