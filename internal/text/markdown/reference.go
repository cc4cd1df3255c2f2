package markdown

import (
	"regexp"
	"strings"
)

// Placeholders for what is written after everything else is escaped. No text contains them: [visible.Text] would have marked them.
const (
	gap    = "\u200b" // zero-width space
	border = "\ue000" // begin and end of code
)

// always splits what is special everywhere.
var always = strings.NewReplacer("#", "#"+gap, "@", "@"+gap, "://", ":"+gap+"//", "www.", "www"+gap+".")

// references match what forges turn into references, in two parts to be separated.
var references = []*regexp.Regexp{
	// Merge requests, snippets and epics by number; milestones and labels by name.
	regexp.MustCompile(`([!$&])(\d)`),
	regexp.MustCompile(`([%~])([\w"])`),
	// Issues, here and in other trackers: GH-1, ABC-1.
	regexp.MustCompile(`(\b(?i:gh)-|\b[A-Z][A-Z0-9_]*-)(\d)`),
	// References with a kind: [vulnerability:1].
	regexp.MustCompile(`(\[)(\w+:)`),
	// Matches can overlap, so each is applied twice.
	wiki, wiki, shortcode, shortcode,
}

// wiki matches the beginning of a wiki link: [[Home]].
var wiki = regexp.MustCompile(`(\[)(\[)`)

// shortcode matches an emoji by its name. Numbers are line numbers, except for the few that are emoji.
var shortcode = regexp.MustCompile(`(:)((?:[a-zA-Z+-][\w+-]*|100|1234|8ball):)`)

// apart separates the parts of references.
func apart(text string) string {
	for _, r := range references {
		text = r.ReplaceAllString(text, "${1}"+gap+"${2}")
	}
	return always.Replace(text)
}

// titled matches references in titles and messages.
var titled = regexp.MustCompile(`([@#!]|\b(?i:gh)-)(\w)`)

// closing matches what closes an issue in any text: a keyword, and then a number, a key or an address.
var closing = regexp.MustCompile(`(?i)(\b(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?|reopen(?:s|ed|ing)?)\b:?)` +
	`([ \t]+(?:issues?[ \t]+)?(?:https?://|[\w./-]*[#!]\d|[a-z][a-z0-9_]*-\d))`)

// parted matches the result of open.
var parted = regexp.MustCompile(strings.Replace(closing.String(), ":?)(", ":?)"+gap+"(", 1))

// Rejoin reverses the separation by [Code] and [Block], for forges that close no issues.
func Rejoin(text string) string { return parted.ReplaceAllString(text, "${1}${2}") }

// open separates closing keywords, in text where nothing else is special.
func open(text string) string { return closing.ReplaceAllString(text, "${1}"+gap+"${2}") }

// hash matches possible commit IDs: forges link the first seven digits of one, or more.
var hash = regexp.MustCompile(`\b[0-9a-f]{7,64}\b`)

// hashesAsCode turns hashes into code. After an "@" they are not references any more.
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

// stands reports whether a word between two texts stands alone, and is not part of a longer name.
func stands(before, after string) bool {
	return (before == "" || strings.ContainsAny(before[len(before)-1:], " \t\n([{,;:\"'")) && (after == "" || strings.ContainsAny(after[:1], " \t\n)]},;:.!?\"'"))
}
