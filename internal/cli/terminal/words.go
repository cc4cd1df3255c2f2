package terminal

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Count formats a number of things: "1 cluster", "2 clusters".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Short abbreviates a commit.
func Short(commit string) string { return Printable(commit[:min(7, len(commit))]) }

var fullHash = regexp.MustCompile(`\b[0-9a-f]{40}\b`)

// ShortHashes abbreviates the commits in a text.
func ShortHashes(text string) string { return fullHash.ReplaceAllStringFunc(text, Short) }

// Because returns a reason in parentheses, after a space; empty without one.
func Because(why string) string {
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}

// ByUser returns ", by " and the name of a user; empty without one.
func ByUser(name string) string {
	if name == "" {
		return ""
	}
	return ", by " + name
}

// Labels formats labels as users type them: "a=b,c=d".
func Labels(l map[string]string) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(l)) {
		words = append(words, key+"="+l[key])
	}
	return strings.Join(words, ",")
}
