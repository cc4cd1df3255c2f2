package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Shorten returns name when it is at most limit bytes long. A longer one is cut and ends in "-" and
// eight hexadecimal digits of the SHA-256 of the full name, so that different names stay different.
// The result of a DNS label is a DNS label. The limit must leave room for more than the nine bytes of the ending.
func Shorten(name string, limit int) string {
	const digits = 8
	if len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	head := strings.TrimRight(name[:max(0, limit-digits-1)], "-.")
	return head + "-" + hex.EncodeToString(sum[:digits/2])
}

// TargetName returns the name of a deployment target of a workload, "<workload>-<target>",
// shortened to what a folder name and a label value can hold.
func TargetName(workload, target string) string {
	return Shorten(workload+"-"+target, MaxLabel)
}

// CleanPath returns a path within a repository in its shortest form; the root, however it is written, is "".
// A path that is absolute, leaves the repository, leads into ".git" or has control characters is an error.
func CleanPath(p string) (string, error) {
	switch {
	case strings.ContainsFunc(p, unicode.IsControl):
		return "", errors.New("a path has no control characters")
	case path.IsAbs(p):
		return "", errors.New("a path is relative to the root of the repository")
	case slices.Contains(strings.Split(p, "/"), ".."):
		return "", errors.New(`a path does not contain ".."`)
	case slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool { return strings.EqualFold(part, ".git") }):
		return "", errors.New(`nothing below ".git" is a file of a repository`)
	}
	if p = path.Clean(p); p == "." {
		return "", nil
	}
	return p, nil
}

// nameRule says what the names of a kind look like.
type nameRule struct {
	what, hint string
	// check returns what is wrong.
	check func(name string) []string
}

// The names of Kubernetes. Labels become folders, namespaces and label values; the others may contain dots.
var (
	dnsLabel = nameRule{
		"a DNS label", "use up to 63 lower-case letters, digits and dashes, a letter or digit first and last",
		validation.IsDNS1123Label,
	}
	dnsSubdomain = nameRule{
		"a DNS subdomain", "use up to 253 lower-case letters, digits, dashes and dots, a letter or digit first and last",
		validation.IsDNS1123Subdomain,
	}
)

// name reports a name at the given keys that breaks the rule. One that is not there is none.
func (d *decoder) name(root *yaml.Node, rule nameRule, keys ...string) {
	n := lookup(root, keys...)
	if n == nil || n.Kind != yaml.ScalarNode || n.Value == "" || len(rule.check(n.Value)) == 0 {
		return
	}
	d.fail(KindInvalidName, n, rule.hint, "%s %s is not %s", d.field(keys...), quoteShort(n.Value), rule.what)
}

// safe returns text that somebody else wrote so that it can be shown anywhere:
// bounded, and without what a terminal would act on. Valid names stay as they are.
func safe(s string) string {
	if len(s) > MaxSubdomain {
		s = strings.ToValidUTF8(s[:MaxSubdomain], "") + "..."
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// quoteShort quotes text that somebody else wrote, so that a terminal is safe and the line stays readable.
func quoteShort(s string) string {
	const limit = 80
	if len(s) > limit {
		return fmt.Sprintf("%q...", strings.ToValidUTF8(s[:limit], ""))
	}
	return fmt.Sprintf("%q", s)
}
