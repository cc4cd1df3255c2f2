package deliver

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// ObjectChange is a changed object of a target.
type ObjectChange struct {
	Op        plan.Op `json:"op"`
	Kind      string  `json:"kind"`
	Namespace string  `json:"namespace,omitempty"`
	Name      string  `json:"name"`

	before, after string
	// redacted hides credentials in the difference.
	redacted bool
}

// String formats the object as Kind/name, or Kind/namespace/name.
func (o ObjectChange) String() string {
	if o.Namespace == "" {
		return o.Kind + "/" + o.Name
	}
	return o.Kind + "/" + o.Namespace + "/" + o.Name
}

// Diff returns the unified difference of the manifest, without the file names.
func (o ObjectChange) Diff() string {
	text := udiff.Unified("before", "after", o.before, o.after)
	for range 2 { // --- before, +++ after
		_, text, _ = strings.Cut(text, "\n")
	}
	if o.redacted {
		return check.RedactYAML(text)
	}
	return text
}

// manifest is one document of a manifest file.
type manifest struct {
	group, kind, namespace, name string
	text                         string
}

func (m manifest) key() [4]string { return [4]string{m.group, m.kind, m.namespace, m.name} }

// changedObjects compares two manifest files. It does not parse documents that are identical.
func changedObjects(before, after []byte) []ObjectChange {
	was, is := documents(before), documents(after)
	old := map[string]int{}
	for _, text := range was {
		old[text]++
	}
	var fresh []string
	for _, text := range is {
		if old[text] > 0 {
			old[text]--
			continue
		}
		fresh = append(fresh, text)
	}
	gone := map[[4]string][]manifest{}
	for _, text := range was {
		if old[text] > 0 {
			old[text]--
			m := parseManifest(text)
			gone[m.key()] = append(gone[m.key()], m)
		}
	}
	return pair(gone, fresh)
}

// pair matches new documents with those that they replace. Several documents can claim to be the same object.
func pair(gone map[[4]string][]manifest, fresh []string) []ObjectChange {
	var changes []ObjectChange
	for _, text := range fresh {
		m := parseManifest(text)
		c := ObjectChange{Op: plan.Added, Kind: m.kind, Namespace: m.namespace, Name: m.name, after: m.text}
		if was := gone[m.key()]; len(was) > 0 {
			c.Op, c.before = plan.Changed, was[0].text
			gone[m.key()] = was[1:]
		}
		if c.before != c.after {
			changes = append(changes, c)
		}
	}
	for _, left := range gone {
		for _, m := range left {
			changes = append(changes, ObjectChange{Op: plan.Removed, Kind: m.kind, Namespace: m.namespace, Name: m.name, before: m.text})
		}
	}
	slices.SortFunc(changes, func(a, b ObjectChange) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Op, b.Op),
			cmp.Compare(a.before+a.after, b.before+b.after))
	})
	return changes
}

// documents splits a file at its document separators.
func documents(content []byte) []string {
	var all []string
	for len(content) > 0 {
		var document []byte
		switch i := bytes.Index(content, []byte("\n---\n")); {
		case bytes.HasPrefix(content, []byte("---\n")):
			content = content[4:]
			continue
		case i < 0:
			document, content = content, nil
		default:
			document, content = content[:i+1], content[i+5:]
		}
		if len(bytes.TrimSpace(document)) > 0 {
			all = append(all, string(document))
		}
	}
	return all
}

// parseManifest determines which object a document is. Comments about the document's origin do not count as a change.
func parseManifest(text string) manifest {
	for strings.HasPrefix(text, "#") {
		_, text, _ = strings.Cut(text, "\n")
	}
	var head struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
		Metadata   struct {
			Name      string `yaml:"name"`
			Namespace string `yaml:"namespace"`
		} `yaml:"metadata"`
	}
	err := yaml.Unmarshal([]byte(identity(text)), &head)
	if err != nil {
		// A key may occur twice, or refer to an anchor elsewhere in the document.
		err = yaml.Unmarshal([]byte(text), &head)
	}
	if err != nil || head.Kind == "" {
		head.Kind = "document"
	}
	group, _, _ := strings.Cut(head.APIVersion, "/")
	if !strings.Contains(head.APIVersion, "/") {
		group = ""
	}
	return manifest{group: group, kind: head.Kind, namespace: head.Metadata.Namespace, name: head.Metadata.Name, text: text}
}

// identity returns the lines that identify a document's object, or the whole document if it is not in the usual form.
// Parsing a whole object takes many times as long. Each of the three keys must start a line. If a line within a
// multi-line text looks like one of them, the key occurs twice, because
// objects have all three, and YAML parsers reject that.
func identity(text string) string {
	for _, end := range []string{"\r", "\u0085", "\u2028", "\u2029"} {
		if strings.Contains(text, end) {
			return text // YAML line breaks, too
		}
	}
	var b strings.Builder
	key, found := "", 0
	for line := range strings.Lines(text) {
		if next, ok := topLevel(line); !ok || next == "" && key == "" && line[0] == ' ' {
			return text
		} else if next != "" {
			key = next
			if identifies(key) {
				found++
			}
		}
		if identifies(key) {
			b.WriteString(line)
		}
	}
	if found != 3 {
		return text
	}
	return b.String()
}

func identifies(key string) bool { return key == "apiVersion" || key == "kind" || key == "metadata" }

// topLevel returns the key that starts in a line; empty if the line continues the previous key, or is a comment or
// blank. ok is false for lines that are not in the usual form of objects.
func topLevel(line string) (key string, ok bool) {
	if strings.ContainsRune(" #\n", rune(line[0])) || strings.HasPrefix(line, "- ") || line == "-\n" { // lists may be unindented
		return "", true
	}
	key, value, ok := strings.Cut(line, ":")
	return key, ok && key != "" && strings.Trim(key, letters) == "" && (value == "" || value[0] == ' ' || value[0] == '\n')
}

// letters are the characters of keys in objects.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
