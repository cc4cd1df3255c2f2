package recipe

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Found is a Secret in the cluster.
type Found struct {
	Data map[string][]byte
	// Made tells that a recipe made it. Rotation is the last one; nil for a Secret that no recipe has met.
	Made     bool
	Rotation *int
}

// Written is a Secret to write.
type Written struct {
	Secret *Secret
	// Data are all its keys, also those that are kept.
	Data map[string][]byte
	// Made are the keys with a new value, sorted. Without any, only the rotation is recorded.
	Made []string
	// New tells that the Secret does not exist.
	New bool
}

// maker makes the values of a recipe.
type maker struct {
	*Recipe
	found  map[string]Found
	random io.Reader
	now    time.Time

	// values are the draws that are known. unread are those in keys that exist, but that cannot be found there.
	values map[int]string
	unread map[int]string
	// fresh are the draws that a rotation makes again.
	fresh map[int]bool
	// pairs are the certificates that were made, with their private keys.
	pairs map[int]*issued
}

// Make returns the Secrets to write, in the order of the recipe. found are those that exist, by name.
func (r *Recipe) Make(found map[string]Found, random io.Reader, now time.Time) ([]Written, error) {
	m := &maker{
		Recipe: r, found: found, random: random, now: now,
		values: map[int]string{}, unread: map[int]string{}, fresh: map[int]bool{}, pairs: map[int]*issued{},
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	m.rotate()
	if err := m.learn(); err != nil {
		return nil, err
	}
	var all []Written
	for i := range r.Secrets {
		w, err := m.write(&r.Secrets[i])
		if err != nil {
			return nil, fmt.Errorf("make the Secret %s: %w", r.Secrets[i].Name, err)
		}
		if w != nil {
			all = append(all, *w)
		}
	}
	return all, nil
}

// rotated reports whether a Secret exists with another rotation than that of the recipe.
func (m *maker) rotated(s *Secret) bool {
	f, ok := m.found[s.Name]
	return ok && f.Rotation != nil && *f.Rotation != s.Rotation
}

// rotate finds the draws of rotated Secrets, and those that belong to them: a hash, a key, what an authority signs.
func (m *maker) rotate() {
	for i := range m.Secrets {
		if s := &m.Secrets[i]; m.rotated(s) {
			for _, n := range s.draws() {
				m.fresh[n] = true
			}
		}
	}
	for before := -1; before < len(m.fresh); {
		before = len(m.fresh)
		for i := range m.Draws {
			for _, other := range m.related(i + 1) {
				if m.fresh[i+1] || m.fresh[other] {
					m.fresh[i+1], m.fresh[other] = true, true
				}
			}
		}
	}
}

// related returns the draws that a draw is made from.
func (m *maker) related(n int) []int {
	d := m.Draws[n-1]
	var all []int
	if d.Of != 0 {
		all = append(all, d.Of)
	}
	if d.Certificate != nil && d.Certificate.By != 0 {
		all = append(all, d.Certificate.By)
	}
	return all
}

// draws returns the draws of a Secret.
func (s *Secret) draws() []int {
	var all []int
	for _, k := range s.Keys {
		all = append(all, k.draws()...)
	}
	return all
}

func (k Key) draws() []int {
	var all []int
	for _, p := range k.Parts {
		if p.Draw != 0 {
			all = append(all, p.Draw)
		}
	}
	return all
}

// learn reads the values of draws from the Secrets that exist.
func (m *maker) learn() error {
	from := map[int]string{}
	for i := range m.Secrets {
		s := &m.Secrets[i]
		for _, k := range s.Keys {
			value, ok := m.found[s.Name].Data[k.Name]
			if !ok || len(k.draws()) == 0 {
				continue
			}
			at := s.Name + "/" + k.Name
			learned := m.match(k, string(value))
			for _, n := range k.draws() {
				text, ok := learned[n]
				known, also := m.values[n]
				switch {
				case m.fresh[n]:
				case !ok:
					m.unread[n] = at
				case also && known != text:
					return fmt.Errorf("%s and %s have different values, but the chart has one for both: rotate them", from[n], at)
				default:
					m.values[n], from[n] = text, at
				}
			}
		}
	}
	for n := range m.values {
		delete(m.unread, n)
	}
	return nil
}

// match returns the values of draws in the value of a key. A key that is one draw only can have any value.
func (m *maker) match(k Key, value string) map[int]string {
	if len(k.Parts) == 1 {
		return map[int]string{k.Parts[0].Draw: value}
	}
	var b strings.Builder
	var order []int
	b.WriteString(`(?s)^`)
	for _, p := range k.Parts {
		if p.Draw == 0 {
			b.WriteString(regexp.QuoteMeta(p.Text))
			continue
		}
		order = append(order, p.Draw)
		if n := m.Draws[p.Draw-1].characters(); n > 0 && n <= maxRepeat {
			fmt.Fprintf(&b, `(.{%d})`, n)
		} else {
			b.WriteString(`(.+?)`)
		}
	}
	pattern, err := regexp.Compile(b.String() + `$`)
	if err != nil { // too large: nothing is learned
		return nil
	}
	groups := pattern.FindStringSubmatch(value)
	if groups == nil {
		return nil
	}
	learned := map[int]string{}
	for i, n := range order {
		text := groups[i+1]
		if f := m.Draws[n-1].Function; f == Certificate || f == CertificateOf || f == PrivateKey {
			text = indentation.ReplaceAllString(text, "\n")
		}
		if known, ok := learned[n]; ok && known != text {
			return nil
		}
		learned[n] = text
	}
	return learned
}

// indentation matches the beginning of an indented line.
var indentation = regexp.MustCompile(`\n[ \t]+`)

// maxRepeat is the largest number of repetitions that an expression can have.
const maxRepeat = 1000

// characters is the length of what a draw makes; 0 if it differs.
func (d Draw) characters() int {
	switch d.Function {
	case RandAlphaNum, RandAlpha, RandNumeric, RandASCII:
		return d.Length
	case RandBytes:
		return (d.Length + 2) / 3 * 4
	case UUID:
		return 36
	default:
		return 0
	}
}

// write returns a Secret if something of it changes.
func (m *maker) write(s *Secret) (*Written, error) {
	f, exists := m.found[s.Name]
	w := &Written{Secret: s, Data: maps.Clone(f.Data), New: !exists}
	if w.Data == nil {
		w.Data = map[string][]byte{}
	}
	for _, k := range s.Keys {
		value, ok := f.Data[k.Name]
		if ok && !m.changes(k, f) {
			continue
		}
		text, err := m.compose(k)
		if err != nil {
			return nil, fmt.Errorf("the key %s: %w", k.Name, err)
		}
		if !ok || text != string(value) {
			w.Data[k.Name], w.Made = []byte(text), append(w.Made, k.Name)
		}
	}
	slices.Sort(w.Made)
	if exists && len(w.Made) == 0 && f.Rotation != nil && *f.Rotation == s.Rotation {
		return nil, nil //nolint:nilnil // nothing to write
	}
	return w, nil
}

// changes reports whether a key that exists can get another value: by a rotation, or because the texts of the chart changed, in a Secret
// that a recipe made.
func (m *maker) changes(k Key, f Found) bool {
	draws := k.draws()
	if slices.ContainsFunc(draws, func(n int) bool { return m.fresh[n] }) {
		return true
	}
	return f.Made && !slices.ContainsFunc(draws, func(n int) bool { _, ok := m.values[n]; return !ok })
}

// compose returns the value of a key. The lines of a draw are indented like its first one.
func (m *maker) compose(k Key) (string, error) {
	var b strings.Builder
	for _, p := range k.Parts {
		if p.Draw == 0 {
			b.WriteString(p.Text)
			continue
		}
		value, err := m.value(p.Draw)
		if err != nil {
			return "", err
		}
		if strings.Contains(value, "\n") {
			line := b.String()[strings.LastIndexByte(b.String(), '\n')+1:]
			value = strings.ReplaceAll(value, "\n", "\n"+line[:len(line)-len(strings.TrimLeft(line, " \t"))])
		}
		b.WriteString(value)
	}
	return b.String(), nil
}

// errTogether is why a value cannot be made.
var errTogether = errors.New("it belongs to a value that exists already: rotate the Secret, which makes both again")

// value returns a draw, and makes it if it is not known. It makes none whose relatives exist.
func (m *maker) value(n int) (string, error) {
	if value, ok := m.values[n]; ok {
		return value, nil
	}
	if at, ok := m.unread[n]; ok {
		return "", fmt.Errorf("its value is in %s, in another form: rotate the Secret, or delete that key", at)
	}
	for i := range m.Draws {
		if !slices.Contains(m.related(i+1), n) {
			continue
		}
		if _, ok := m.values[i+1]; ok && m.pairs[n] == nil {
			return "", errTogether
		}
		if _, ok := m.unread[i+1]; ok {
			return "", errTogether
		}
	}
	value, err := m.draw(n)
	if err != nil {
		return "", err
	}
	m.values[n] = value
	return value, nil
}
