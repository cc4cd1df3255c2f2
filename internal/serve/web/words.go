package web

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/text/secret"
	"github.com/kalypso-io/kalypso/internal/text/visible"
)

// stateStyle is how a state is shown: tone is its color; symbol and label say the same without color.
type stateStyle struct {
	tone, symbol string
	// label is the visible text; empty means the state itself, or the word for a step.
	label string
}

// The tones. Each has a color in kalypso.css.
const (
	good = "good" // as expected
	move = "move" // in progress
	warn = "warn" // needs attention
	bad  = "bad"  // failed
	off  = "off"  // unknown or empty
)

// stateStyles has the style of every state, phase, result and step.
var stateStyles = map[string]stateStyle{
	"good": {good, "✓", ""}, "soaking": {good, "✓", ""}, "reached": {good, "✓", ""}, "ready": {good, "✓", ""}, "deployed": {good, "✓", ""}, "passed": {good, "✓", ""},
	"healthy": {good, "✓", ""}, "degraded": {bad, "✕", ""},
	"behind": {move, "◐", ""}, "progressing": {move, "◐", ""}, "applying": {move, "◐", ""}, "checking": {move, "◐", ""},
	"awaiting": {move, "◐", ""}, "goingBack": {move, "◐", ""}, "verifying": {move, "◐", ""},
	"proposed": {move, "◐", ""}, "waiting": {move, "◐", ""}, "waits": {move, "◐", "waiting"}, "running": {move, "◐", ""},
	"open": {move, "◐", ""}, "started": {move, "◐", ""}, "published": {move, "◐", ""}, "candidate": {move, "◐", "next"},
	"failed": {bad, "✕", ""}, "timedOut": {bad, "✕", "timed out"}, "error": {bad, "✕", ""}, "refuse": {bad, "✕", ""}, "takenBack": {bad, "✕", ""}, "rolledBack": {bad, "✕", ""}, "aborted": {bad, "✕", ""},
	"rejected": {warn, "▲", ""}, "unproven": {warn, "▲", ""}, "drifted": {warn, "▲", ""},
	"held": {warn, "▲", ""}, "refused": {warn, "▲", ""}, "paused": {warn, "▲", ""}, "warning": {warn, "▲", ""}, "warn": {warn, "▲", "warning"}, "closed": {warn, "▲", ""},
	"noClusters": {warn, "▲", ""}, "withdrawn": {warn, "▲", ""}, "emptied": {off, "·", ""},
	"offline": {off, "⊘", ""}, "missing": {off, "?", ""}, "suspended": {off, "‖", ""}, "unknown": {off, "○", ""}, "outside": {off, "○", ""}, "superseded": {off, "○", ""},
	"notice": {off, "○", ""}, "revoked": {off, "⊘", ""}, "unregistered": {off, "?", "not registered"},
	"notYet": {off, "○", "not started"}, "registered": {good, "✓", ""}, "merged": {good, "✓", ""}, "opened": {move, "◐", ""},
	"stateChanged": {off, "·", ""}, "statusPosted": {off, "·", ""}, "verified": {off, "·", ""}, "ran": {off, "·", ""}, "resumed": {off, "·", ""}, "requested": {move, "◐", ""}, "done": {good, "✓", ""},
	"assigned": {off, "·", "expected"}, "placed": {good, "✓", "assigned"}, "unassigned": {off, "−", "not assigned"}, "pending": {move, "◐", ""}, "delivered": {good, "✓", ""}, "dead": {bad, "✕", "given up"}, "dropped": {bad, "✕", ""},
	"skipped": {warn, "▲", ""}, "bypassed": {warn, "▲", ""}, "approved": {good, "✓", ""}, "reviewed": {off, "·", ""}, "begun": {move, "◐", ""},
	"added": {move, "+", ""}, "changed": {move, "~", ""}, "removed": {bad, "−", ""},
}

// styleOf returns the style of a state. An unknown state is shown by its name.
func styleOf(state any) stateStyle {
	name := fmt.Sprint(state)
	m, ok := stateStyles[name]
	if !ok {
		m = stateStyle{off, "○", line(name)}
	}
	if m.label == "" {
		m.label = promote.Spaced(name)
	}
	return m
}

func tone(state any) string   { return styleOf(state).tone }
func symbol(state any) string { return styleOf(state).symbol }
func label(state any) string  { return styleOf(state).label }

// line cleans an untrusted text: one line, without credentials, with invisible characters marked.
func line(text any) string { return visible.Line(secret.Mask(fmt.Sprint(text))) }

// lines is like line, but keeps line breaks and spaces.
func lines(text string) string { return visible.Text(secret.Mask(text)) }

// sentence capitalizes a text and adds a full stop.
func sentence(text string) string {
	text = line(text)
	first, size := utf8.DecodeRuneInString(text)
	if text == "" {
		return ""
	}
	text = string(unicode.ToUpper(first)) + text[size:]
	if !strings.ContainsAny(text[len(text)-1:], ".!?:") {
		text += "."
	}
	return text
}

// isHash reports whether a text is a commit hash, or at least its first seven digits.
func isHash(text string) bool {
	return len(text) >= 7 && len(text) <= 64 && strings.Trim(text, "0123456789abcdef") == ""
}

// short abbreviates the hash of a commit.
func short(sha string) string { return line(fleet.ShortCommit(sha)) }

// isLink reports whether an untrusted address may become a link: http or https, without credentials.
func isLink(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

// repositoryURL returns a URL that browsers can open for a repository in the ledger, which has no protocol.
func (p *Pages) repositoryURL(address string) string {
	if p.RepositoryURL == nil {
		return address
	}
	return p.RepositoryURL(address)
}

// reason is an explanation with the address it mentions.
type reason struct{ Text, URL string }

// trailingURL matches the address at the end of a reason.
var trailingURL = regexp.MustCompile(` \((https?://[^\s()]+)\)$`)

// reasonOf splits a reason into text and address.
func reasonOf(text string) reason {
	if found := trailingURL.FindStringSubmatch(text); found != nil && isLink(found[1]) {
		return reason{strings.TrimSuffix(text, found[0]), found[1]}
	}
	return reason{Text: text}
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// ago formats the time since an event.
func ago(d time.Duration) string {
	switch {
	case d < 0:
		return "in " + duration(-d)
	case d < time.Minute:
		return "just now"
	}
	return duration(d) + " ago"
}

// duration formats a duration in its largest unit.
func duration(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// number formats a number, with separators of thousands.
func number(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// count formats a number of things, with the plural.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if strings.HasSuffix(thing, "s") {
		thing += "e"
	}
	return number(n) + " " + thing + "s"
}

// truncate shortens a text to at most so many characters.
func truncate(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// shellWord quotes a word for a shell if necessary.
func shellWord(text string) string {
	safe := func(r rune) bool {
		return r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("-_./:@=,+", r)
	}
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !safe(r) }) {
		return text
	}
	return "'" + strings.ReplaceAll(line(text), "'", `'\''`) + "'"
}

// command returns a command line for this server.
func (s *site) command(words ...string) string {
	if s.URL != "" {
		words = append(words, "--server", s.URL)
	}
	return CommandLine(words...)
}

// CommandLine joins words to a command line. Empty words are left out.
func CommandLine(words ...string) string {
	all := []string{"kalypso"}
	for _, w := range words {
		if w != "" {
			all = append(all, shellWord(w))
		}
	}
	return strings.Join(all, " ")
}
