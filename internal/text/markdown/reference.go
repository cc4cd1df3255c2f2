package markdown

import (
	"regexp"
	"strings"
)

// Stand for what is written once everything else is escaped. No text has them: [visible.Text] would have marked them.
const (
	gap    = "\u200b" // a space of no width
	border = "\ue000" // where code begins and ends
)

// always are taken apart wherever they are.
var always = strings.NewReplacer("#", "#"+gap, "@", "@"+gap, "://", ":"+gap+"//", "www.", "www"+gap+".")

// references are what forges make something of, in two parts that are kept apart.
var references = []*regexp.Regexp{
	// Merge requests, snippets and epics by number; milestones and labels by name.
	regexp.MustCompile(`([!$&])(\d)`),
	regexp.MustCompile(`([%~])([\w"])`),
	// Issues, here and in other trackers: GH-1, ABC-1.
	regexp.MustCompile(`(\b(?i:gh)-|\b[A-Z][A-Z0-9_]*-)(\d)`),
	// What is found by its kind: [vulnerability:1].
	regexp.MustCompile(`(\[)(\w+:)`),
	// The end of one of these may be the beginning of the next, so that they are looked for twice.
	wiki, wiki, shortcode, shortcode,
}

// wiki is how pages of a wiki begin: [[Home]].
var wiki = regexp.MustCompile(`(\[)(\[)`)

// shortcode is a picture by its name. Numbers are those of lines, but for the few that are pictures.
var shortcode = regexp.MustCompile(`(:)((?:[a-zA-Z+-][\w+-]*|100|1234|8ball):)`)

// apart takes references apart.
func apart(text string) string {
	for _, r := range references {
		text = r.ReplaceAllString(text, "${1}"+gap+"${2}")
	}
	return always.Replace(text)
}

// titled are the references that are looked for in titles and messages.
var titled = regexp.MustCompile(`([@#!]|\b(?i:gh)-)(\w)`)

// closing is what closes an issue where it is said, in any text: a word, and then a number, a key or an address.
var closing = regexp.MustCompile(`(?i)(\b(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?|reopen(?:s|ed|ing)?)\b:?)` +
	`([ \t]+(?:issues?[ \t]+)?(?:https?://|[\w./-]*[#!]\d|[a-z][a-z0-9_]*-\d))`)

// parted is what open makes of it.
var parted = regexp.MustCompile(strings.Replace(closing.String(), ":?)(", ":?)"+gap+"(", 1))

// Rejoin returns a Markdown text as it was before [Code] and [Block] kept apart what closes issues, for those who close none.
func Rejoin(text string) string { return parted.ReplaceAllString(text, "${1}${2}") }

// open keeps apart what would close something, in text where nothing else means anything.
func open(text string) string { return closing.ReplaceAllString(text, "${1}"+gap+"${2}") }

// hash is what may be a commit: forges link the first seven digits of one, or more.
var hash = regexp.MustCompile(`\b[0-9a-f]{7,64}\b`)

// hashesAsCode makes code of hashes. Those that follow an "@" are no references any more.
func hashesAsCode(text string) string {
	var b strings.Builder
	written := 0
	for _, at := range hash.FindAllStringIndex(text, -1) {
		found := text[at[0]:at[1]]
		if !strings.ContainsAny(found, "0123456789") || !strings.ContainsAny(found, "abcdef") || !stands(text[:at[0]], text[at[1]:]) {
			continue
		}
		b.WriteString(text[written:at[0]] + border + found + border)
		written = at[1]
	}
	return b.String() + text[written:]
}

// stands reports whether a word stands alone between two texts, and is no part of a longer name.
func stands(before, after string) bool {
	return (before == "" || strings.ContainsAny(before[len(before)-1:], " \t\n([{,;:\"'")) && (after == "" || strings.ContainsAny(after[:1], " \t\n)]},;:.!?\"'"))
}
