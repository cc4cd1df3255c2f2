package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// settled is what a rendering knows about values that the chart makes up.
type settled struct {
	// replaced are the documents that take the place of others, by [document.key].
	replaced map[string][]document
	// left are the fields that still depend on random functions or the clock, and made all objects with such fields.
	left []change
	made []chart.Made
}

// key identifies a document among the output of a chart.
func (d document) key() string { return d.source + "\x00" + d.text }

// pair is a document in both renderings.
type pair struct {
	was, is document
	fields  []string
}

func (p pair) object() fleet.Ref { return fleet.Ref{Kind: p.was.kind(), Name: p.was.name()} }

func (d document) name() string {
	metadata, _ := d.fields["metadata"].(map[string]any)
	return text(metadata, "name")
}

// pairs returns the documents that differ between two outputs; ok is false if some cannot be compared.
func pairs(a, b map[string]string) (all []pair, ok bool) {
	for _, source := range slices.Sorted(maps.Keys(b)) {
		if a[source] == b[source] {
			continue
		}
		was, is := applied(source, a[source]), applied(source, b[source])
		if len(was) != len(is) {
			return nil, false
		}
		for i := range was {
			x, wrong := read(source, was[i])
			y, alsoWrong := read(source, is[i])
			if wrong != nil || alsoWrong != nil {
				return nil, false
			}
			p := pair{was: x, is: y, fields: slices.Collect(differences("", x.fields, y.fields))}
			if len(p.fields) > 0 {
				all = append(all, p)
			}
		}
	}
	return all, true
}

// settle compares the output with that of the other side of the chance, and applies the entries of the Delivery's
// secrets.
func (c *helmChart) settle(composed *values.Composed, o chart.Options, one map[string]string, first *chance) settled {
	second := &chance{other: true, seed: first.seed}
	other, err := c.output(composed, o, second, newMeter())
	if err != nil { // such as a check that fails with one of the results only
		return settled{left: []change{{}}}
	}
	if maps.Equal(one, other) {
		return settled{}
	}
	s := settled{left: changed(one, other), replaced: map[string][]document{}}
	all, ok := pairs(one, other)
	if !ok {
		return s
	}
	m := maker{options: o, first: first, second: second, shared: shared(all, first), once: newOnce(first)}
	for _, p := range all {
		if p.was.kind() == "Secret" {
			if secret, err := m.read(p); err == nil {
				m.secrets = append(m.secrets, secret)
			}
		}
	}
	for _, p := range all {
		made, documents := m.settle(p)
		s.made = append(s.made, made)
		if made.From == "" {
			continue
		}
		if documents != nil {
			s.replaced[p.was.key()] = documents
		}
		s.left = slices.DeleteFunc(s.left, func(l change) bool { return l.source == p.was.source && l.object == p.object() })
	}
	if err := m.job(s.replaced); err != nil {
		s.left = append(s.left, change{source: m.once.source})
	}
	return s
}

// job puts the Job that makes Secrets in the place of the first of them.
func (m *maker) job(replaced map[string][]document) error {
	if m.once.first == "" {
		return nil
	}
	objects, err := m.once.objects(m.options.Release, m.options.Namespace)
	if err != nil {
		return err
	}
	replaced[m.once.first], err = written(m.once.source, objects)
	return err
}

// maker decides where the values come from that a chart makes up.
type maker struct {
	options       chart.Options
	first, second *chance
	// shared are the texts that are in more than one Secret.
	shared map[string]bool
	// secrets are the Secrets that can come from elsewhere.
	secrets []*secretObject
	// once are those that a Job makes.
	once *once
}

// settle returns what a document has that is made up, and the documents that take its place if an entry of the
// Delivery applies.
func (m *maker) settle(p pair) (chart.Made, []document) {
	made := chart.Made{Object: p.object(), Template: p.was.source, Fields: p.fields, Use: chart.MadeOther}
	chosen := m.options.Secrets
	switch {
	case p.was.kind() == "Secret":
		return m.secret(p, made)
	case sameButDigests(p.was.fields, p.is.fields, false):
		// A digest is that of a text with fixed values in the place of random ones, so it changes with the chart
		// and its values only.
		if made.Use = chart.MadeChecksum; len(chosen) > 0 {
			made.From = "checksum"
		}
		return made, nil
	}
	if inject, ok := injected(p); ok {
		made.Use = chart.MadeCertificate
		if at := m.authorities(p); at != nil {
			made.Can = []string{string(app.FromCertManager)}
			namespace := cmp.Or(at.namespace, m.options.Namespace)
			if namespace == "" {
				made.Can, made.Why = nil, "cert-manager needs the namespace of the Secret: set spec.chart.namespace of the Delivery"
				return made, nil
			}
			if m.choice(at).From == app.FromCertManager {
				made.From = string(app.FromCertManager)
				return made, []document{inject(namespace + "/" + at.name)}
			}
			return made, nil
		}
	}
	made.Why = "only values in Secrets, checksums in annotations and certificates of authorities can come from elsewhere"
	return made, nil
}

// choice returns the entry of the Delivery that applies to a Secret: that with its name, or the first one without a name whose source can
// make it. Its source is empty if there is none.
func (m *maker) choice(s *secretObject) app.ChartSecret {
	for _, name := range []string{s.name, ""} {
		for _, entry := range m.options.Secrets {
			if entry.Name != name || entry.From == app.FromExisting {
				continue
			}
			if m.can(s, entry.From) == nil {
				return entry
			}
		}
	}
	return app.ChartSecret{}
}

// can returns why a source cannot make a Secret; nil if it can.
func (m *maker) can(s *secretObject, from app.SecretSource) error {
	if from != app.FromJob {
		_, err := m.objects(s, from)
		return err
	}
	switch {
	case m.options.Namespace == "":
		return errors.New("a Job needs the namespace of its service account: set spec.chart.namespace of the Delivery")
	case s.namespace != "" && s.namespace != m.options.Namespace:
		return fmt.Errorf("a Job makes no Secrets in another namespace, such as %s", s.namespace)
	}
	return newOnce(m.first).add(s, app.ChartSecret{})
}

// elsewhere returns an error if a Secret that does not come from the Job has a value of one that does.
func (m *maker) elsewhere(s *secretObject) error {
	for _, k := range s.keys {
		for _, p := range k.parts {
			if p.drawn == nil || !m.shared[p.drawn.text] {
				continue
			}
			for _, other := range m.secrets {
				if other.name != s.name && other.has(p.drawn.text) && m.choice(other).From != app.FromJob {
					return fmt.Errorf("the value of the key %s is in the Secret %s, too: let both come from the Job", k.name, other.name)
				}
			}
		}
	}
	return nil
}

// secret settles a Secret.
func (m *maker) secret(p pair, made chart.Made) (chart.Made, []document) {
	made.Use = chart.MadePassword
	s, err := m.read(p)
	if err != nil {
		made.Why = err.Error()
		return made, nil
	}
	if s.certificates() {
		made.Use = chart.MadeCertificate
	}
	made.Keys = s.random()
	var reasons []string
	for _, from := range []app.SecretSource{app.FromExternalSecrets, app.FromCertManager, app.FromJob} {
		if err := m.can(s, from); err != nil {
			reasons = append(reasons, fmt.Sprintf("%s: %s", from, err))
			continue
		}
		made.Can = append(made.Can, string(from))
	}
	if len(made.Can) == 0 {
		made.Why = strings.Join(reasons, "; ")
	}
	entry := m.choice(s)
	switch entry.From {
	case "":
		return made, nil
	case app.FromJob:
		if err := m.elsewhere(s); err != nil {
			made.Why = err.Error()
			return made, nil
		}
		if err := m.once.add(s, entry); err != nil {
			made.Why = err.Error()
			return made, nil
		}
		if m.once.first == "" {
			m.once.first, m.once.source, m.once.image = p.was.key(), p.was.source, entry.Image
		}
		made.From, made.Rotation = string(entry.From), entry.Rotation
		return made, []document{}
	}
	objects, err := m.objects(s, entry.From)
	if err != nil {
		return made, nil
	}
	documents, err := written(p.was.source, objects)
	if err != nil {
		made.Why = err.Error()
		return made, nil
	}
	made.From = string(entry.From)
	return made, documents
}

// digest matches a checksum: hexadecimal digits, at least as many as those of MD5.
var digest = regexp.MustCompile(`^[0-9a-f]{32,128}$`)

// sameButDigests reports whether two values differ in digests among annotations only.
func sameButDigests(a, b any, annotation bool) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, xMap := a.(map[string]any)
	y, yMap := b.(map[string]any)
	if xMap && yMap {
		if len(x) != len(y) {
			return false
		}
		for key := range x {
			if other, ok := y[key]; !ok || !sameButDigests(x[key], other, key == "annotations" || annotation && !strings.Contains(key, "{")) {
				return false
			}
		}
		return true
	}
	if x, y := list(a), list(b); x != nil && len(x) == len(y) {
		for i := range x {
			if !sameButDigests(x[i], y[i], false) {
				return false
			}
		}
		return true
	}
	left, isText := a.(string)
	right, alsoText := b.(string)
	return annotation && isText && alsoText && digest.MatchString(left) && digest.MatchString(right)
}

// shared returns the texts that are in more than one of the Secrets.
func shared(all []pair, first *chance) map[string]bool {
	in, shared := map[string]string{}, map[string]bool{}
	for _, p := range all {
		if p.was.kind() != "Secret" {
			continue
		}
		content := secretText(p.was)
		for _, d := range first.drawn {
			if len(d.text) < leastDrawn || !strings.Contains(content, d.text) {
				continue
			}
			if other, ok := in[d.text]; ok && other != p.was.name() {
				shared[d.text] = true
			}
			in[d.text] = p.was.name()
		}
	}
	return shared
}

// problems describes what is left, with values that avoid it, and notes these values.
func (c *helmChart) problems(composed *values.Composed, o chart.Options, s settled) []fleet.Problem {
	if len(s.left) == 0 {
		return nil
	}
	problems := c.unsettled(composed, o, s.left, func(value string, gone []change, output map[string]string) {
		for i, made := range s.made {
			if !slices.ContainsFunc(gone, func(g change) bool { return g.object == made.Object && g.source == made.Template }) {
				continue
			}
			if made.Object.Kind == "Secret" && !has(output, made.Template, made.Object) {
				s.made[i].Value = value
			} else {
				s.made[i].Set = value
			}
		}
	})
	for i, p := range problems {
		at := slices.IndexFunc(s.made, func(m chart.Made) bool { return m.Object == p.Object })
		if at >= 0 && len(s.made[at].Can) > 0 {
			problems[i].Hint += fmt.Sprintf("; or let it come from %s, see kalypso app secrets", strings.Join(s.made[at].Can, " or "))
		}
	}
	return problems
}

// has reports whether the output of a template has an object.
func has(files map[string]string, source string, object fleet.Ref) bool {
	return slices.ContainsFunc(applied(source, files[source]), func(text string) bool {
		d, err := read(source, text)
		return err == nil && d.kind() == object.Kind && d.name() == object.Name
	})
}
