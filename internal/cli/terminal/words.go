package terminal

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Count says how many there are of something.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Short is the beginning of a commit, by which people know it.
func Short(commit string) string { return Printable(commit[:min(7, len(commit))]) }

var fullHash = regexp.MustCompile(`\b[0-9a-f]{40}\b`)

// ShortHashes shortens the commits that a text names.
func ShortHashes(text string) string { return fullHash.ReplaceAllStringFunc(text, Short) }

// Because adds a reason, where there is one.
func Because(why string) string {
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}

// ByWhom names who did something, where that is known.
func ByWhom(who string) string {
	if who == "" {
		return ""
	}
	return ", by " + who
}

// Labels are shown as they are typed.
func Labels(l map[string]string) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(l)) {
		words = append(words, key+"="+l[key])
	}
	return strings.Join(words, ",")
}
