package fleet

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

var checkLevels = []v1alpha1.CheckLevel{v1alpha1.CheckOff, v1alpha1.CheckInform, v1alpha1.CheckWarn, v1alpha1.CheckRefuse}

// checkCheckPolicy checks everything but the expressions, which package check compiles.
func checkCheckPolicy(d *decoder, root *yaml.Node, p *v1alpha1.CheckPolicy) {
	for _, rule := range slices.Sorted(maps.Keys(p.Spec.Levels)) {
		oneOf(d, root, p.Spec.Levels[rule], checkLevels, "spec", "levels", rule)
	}
	if spec := lookup(root, "spec"); spec != nil && spec.Kind == yaml.MappingNode {
		for key, value := range pairs(spec) {
			if value.Tag == nullTag { // probably rules that were lost, which must not pass everything
				d.fail(KindWrongType, value, "write its content, or remove it", "%s is empty", d.field("spec", key.Value))
			}
		}
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
	d.exceptions(root, p.Spec.Exceptions)
}

// exceptions checks what exceptions must have.
func (d *decoder) exceptions(root *yaml.Node, exceptions []v1alpha1.CheckException) {
	written := lookup(root, "spec", "exceptions")
	for i, e := range exceptions {
		if written == nil || i >= len(written.Content) {
			return
		}
		n := written.Content[i]
		d.within("spec.exceptions["+strconv.Itoa(i)+"]", func() {
			d.require(n, "rule")
			d.require(n, "reason")
			d.require(n, "until")
			if e.File == "" && e.Object == "" {
				d.fail(KindMissingField, n, "name one of the two", "it has neither a file nor an object")
			}
			for _, pattern := range [][2]string{{"file", e.File}, {"object", e.Object}} {
				if _, err := path.Match(pattern[1], ""); err != nil {
					d.fail(KindInvalidValue, lookup(n, pattern[0]), "write * for any text", "%s is not a pattern", d.field(pattern[0]))
				}
			}
			if _, err := time.Parse(time.DateOnly, e.Until); e.Until != "" && err != nil {
				d.fail(KindInvalidValue, lookup(n, "until"), "write the last day, such as 2027-03-31", "%s is %s, not a date", d.field("until"), quoteShort(e.Until))
			}
		})
	}
}

// named checks the elements of a list in the spec, whose names must be unique.
func (d *decoder) named(root *yaml.Node, list, what string, elements int, names map[string]bool, check func(i int, n *yaml.Node) (name string)) {
	written := lookup(root, "spec", list)
	for i := range elements {
		if written == nil || i >= len(written.Content) {
			return
		}
		n := written.Content[i]
		d.within("spec."+list+"["+strconv.Itoa(i)+"]", func() {
			d.require(n, "name")
			d.name(n, dnsLabel, "name")
			name := check(i, n)
			if names[name] {
				d.fail(KindDuplicate, n, "give each rule and each scan a unique name", "duplicate %s %s", what, quoteShort(name))
			}
			names[name] = true
		})
	}
}

func (d *decoder) scan(n *yaml.Node, s *v1alpha1.CheckScan) {
	d.require(n, "what")
	oneOf(d, n, s.What, []v1alpha1.ScanSubject{v1alpha1.ScanImages, v1alpha1.ScanCharts}, "what")
	oneOf(d, n, s.Level, checkLevels, "level")
	if s.Signatures != nil {
		d.signatures(n, s)
		return
	}
	d.require(n, "command", "args")
	if t := s.Command.Timeout; t != nil && t.Duration <= 0 {
		d.fail(KindInvalidValue, lookup(n, "command", "timeout"), "", "%s is %s, must be more than 0", d.field("command", "timeout"), t.Duration)
	}
	for i, arg := range s.Command.Args {
		if i == 0 && strings.ContainsAny(arg, "{}") {
			d.fail(KindInvalidValue, n, "write the name of the program", "%s has a placeholder in the name of its program", d.field("command"))
		}
		if s.What == v1alpha1.ScanImages && strings.Contains(arg, v1alpha1.ScanPath) {
			d.fail(KindInvalidValue, n, "use "+v1alpha1.ScanReference+" and let the program fetch the image", "%s uses %s for an image, but only charts are available as files",
				d.field("command"), v1alpha1.ScanPath)
		}
	}
	for _, code := range s.Command.ExitCodes {
		if code < 1 || code > 255 {
			d.fail(KindInvalidValue, lookup(n, "command", "exitCodes"), "", "%s has %d, want 1 to 255", d.field("command", "exitCodes"), code)
		}
	}
}

// signatures checks a scan of signatures.
func (d *decoder) signatures(n *yaml.Node, s *v1alpha1.CheckScan) {
	d.require(n, "signatures", "keys")
	oneOf(d, n, s.Signatures.Require, []v1alpha1.SignatureKind{v1alpha1.RequireSignature, v1alpha1.RequireProvenance}, "signatures", "require")
	if len(s.Command.Args) > 0 {
		d.fail(KindInvalidValue, n, "write two scans", "a scan has either %s or %s", d.field("command"), d.field("signatures"))
	}
	if s.What != v1alpha1.ScanImages {
		d.fail(KindInvalidValue, n, "write what: images", "%s are those of images", d.field("signatures"))
	}
	for i, text := range s.Signatures.Keys {
		if _, err := PublicKey(text); err != nil {
			d.fail(KindInvalidValue, lookup(n, "signatures", "keys"), "copy the content of cosign.pub", "%s: key %d: %v", d.field("signatures", "keys"), i+1, err)
		}
	}
}
