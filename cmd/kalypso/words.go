package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// count says how many there are of something.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// short is the beginning of a commit, by which people know it.
func short(commit string) string { return printable(commit[:min(7, len(commit))]) }

var fullHash = regexp.MustCompile(`\b[0-9a-f]{40}\b`)

// shortHashes shortens the commits that a text names.
func shortHashes(text string) string { return fullHash.ReplaceAllStringFunc(text, short) }

// because adds a reason, where there is one.
func because(why string) string {
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}

// byWhom names who did something, where that is known.
func byWhom(who string) string {
	if who == "" {
		return ""
	}
	return ", by " + who
}

// labels are shown as they are typed.
func labels(l map[string]string) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(l)) {
		words = append(words, key+"="+l[key])
	}
	return strings.Join(words, ",")
}
