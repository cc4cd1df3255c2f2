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

// Shorten returns name if it is at most limit bytes long. A longer name is cut and ends in "-" and
// eight hexadecimal digits of the SHA-256 of the full name, to keep it unique.
// Shortening a DNS label gives a DNS label. The limit must be more than nine bytes, the length of the suffix.
func Shorten(name string, limit int) string {
	const digits = 8
	if len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	head := strings.TrimRight(name[:max(0, limit-digits-1)], "-.")
	return head + "-" + hex.EncodeToString(sum[:digits/2])
}

// TargetName returns the name of a workload's deployment target, "<workload>-<target>",
// shortened to the length of a label value.
func TargetName(workload, target string) string {
	return Shorten(workload+"-"+target, MaxLabel)
}

// CleanPath returns the shortest form of a path within a repository. The root is "".
// A path that is absolute, leaves the repository, is in ".git" or has control characters is an error.
func CleanPath(p string) (string, error) {
	switch {
	case strings.ContainsFunc(p, unicode.IsControl):
		return "", errors.New("a path must not contain control characters")
	case path.IsAbs(p):
		return "", errors.New("a path must be relative to the root of the repository")
	case slices.Contains(strings.Split(p, "/"), ".."):
		return "", errors.New(`a path must not contain ".."`)
	case slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool { return strings.EqualFold(part, ".git") }):
		return "", errors.New(`a path must not be in ".git"`)
	}
	if p = path.Clean(p); p == "." {
		return "", nil
	}
	return p, nil
}

// nameRule is the format of a kind's names.
type nameRule struct {
	what, hint string
	check      func(name string) []string
}

// The name formats of Kubernetes. DNS labels become folders, namespaces and label values; subdomains can contain dots.
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

// name reports a name at the given keys that breaks the rule. A missing name is valid here.
func (d *decoder) name(root *yaml.Node, rule nameRule, keys ...string) {
	n := lookup(root, keys...)
	if n == nil || n.Kind != yaml.ScalarNode || n.Value == "" || len(rule.check(n.Value)) == 0 {
		return
	}
	d.fail(KindInvalidName, n, rule.hint, "%s %s is not %s", d.field(keys...), quoteShort(n.Value), rule.what)
}

// safe makes untrusted text safe to display:
// limited in length, and without unprintable characters. Valid names are unchanged.
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

// quoteShort quotes untrusted text, limited in length.
func quoteShort(s string) string {
	const limit = 80
	if len(s) > limit {
		return fmt.Sprintf("%q...", strings.ToValidUTF8(s[:limit], ""))
	}
	return fmt.Sprintf("%q", s)
}
