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

	"github.com/agnivade/levenshtein"
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
// A path that is absolute, leaves the repository or has control characters is an error.
func CleanPath(p string) (string, error) {
	switch {
	case strings.ContainsFunc(p, unicode.IsControl):
		return "", errors.New("a path has no control characters")
	case path.IsAbs(p):
		return "", errors.New("a path is relative to the root of the repository")
	case slices.Contains(strings.Split(p, "/"), ".."):
		return "", errors.New(`a path does not contain ".."`)
	}
	if p = path.Clean(p); p == "." {
		return "", nil
	}
	return p, nil
}

// checkLabel says why name is not a DNS label; nil when it is one.
func checkLabel(name string) error {
	if len(validation.IsDNS1123Label(name)) == 0 {
		return nil
	}
	return fmt.Errorf("a name here has at most %d lower-case letters, digits and dashes, "+
		"and begins and ends with a letter or digit", MaxLabel)
}

// checkSubdomain says why name is not a DNS subdomain; nil when it is one.
func checkSubdomain(name string) error {
	if len(validation.IsDNS1123Subdomain(name)) == 0 {
		return nil
	}
	return fmt.Errorf("a name here has at most %d lower-case letters, digits, dashes and dots, "+
		"and begins and ends with a letter or digit", MaxSubdomain)
}

// quoteShort quotes text that somebody else wrote, so that a terminal is safe and the line stays readable.
func quoteShort(s string) string {
	const limit = 80
	if len(s) > limit {
		return fmt.Sprintf("%q...", strings.ToValidUTF8(s[:limit], ""))
	}
	return fmt.Sprintf("%q", s)
}

// didYouMean returns a hint with the candidate that is nearest to the word; empty when none is near.
func didYouMean(word string, candidates []string) string {
	best, distance := "", 1+max(1, len(word)/3)
	if len(word) > MaxSubdomain {
		return ""
	}
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if d := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(c)); d < distance {
			best, distance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}
