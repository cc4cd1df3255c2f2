package deliver

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// ObjectChange is an object of a target that is not as it was.
type ObjectChange struct {
	Op        plan.Op `json:"op"`
	Kind      string  `json:"kind"`
	Namespace string  `json:"namespace,omitempty"`
	Name      string  `json:"name"`

	before, after string
}

// String formats the object as Kind/name, or Kind/namespace/name.
func (o ObjectChange) String() string {
	if o.Namespace == "" {
		return o.Kind + "/" + o.Name
	}
	return o.Kind + "/" + o.Namespace + "/" + o.Name
}

// Diff is the unified difference of the manifest, without the names of files.
func (o ObjectChange) Diff() string {
	text := udiff.Unified("before", "after", o.before, o.after)
	for range 2 { // --- before, +++ after
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
}

// manifest is one document of a file of manifests.
type manifest struct {
	group, kind, namespace, name string
	text                         string
}

func (m manifest) key() [4]string { return [4]string{m.group, m.kind, m.namespace, m.name} }

// changedObjects compares two files of manifests. Documents that are the same to the byte are not parsed.
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

// pair joins what is new with what it replaces. Several documents may say that they are the same object.
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

// documents divides a file at the lines that separate documents.
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

// parseManifest finds out which object a document is. The comment of where it comes from does not count as a change.
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
		// It may be there twice, or refer to an anchor elsewhere.
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

// identity returns the lines of a document that say which object it is, and all of them where that is not plain to see: reading
// a whole object takes many times as long. It wants each of the three keys at the beginning of a line, so that in an object, which
// has them all, what looks like a key and is part of a text is there twice, which no parser takes.
func identity(text string) string {
	for _, end := range []string{"\r", "\u0085", "\u2028", "\u2029"} {
		if strings.Contains(text, end) {
			return text // for YAML, lines end there as well
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

// topLevel returns the key that begins in a line: none where the line goes on with the key before, or says nothing.
// ok is false for lines that are written in another way than those of objects usually are.
func topLevel(line string) (key string, ok bool) {
	if strings.ContainsRune(" #\n", rune(line[0])) || strings.HasPrefix(line, "- ") || line == "-\n" { // lists need not be indented
		return "", true
	}
	key, value, ok := strings.Cut(line, ":")
	return key, ok && key != "" && strings.Trim(key, letters) == "" && (value == "" || value[0] == ' ' || value[0] == '\n')
}

// letters are what the keys of objects are written with.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
