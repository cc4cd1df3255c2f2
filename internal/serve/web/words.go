package web

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-io/kalypso/internal/text/secret"
	"github.com/kalypso-io/kalypso/internal/text/visible"
)

// manner is how a state is shown: its tone is the colour, and symbol and word say the same without one.
type manner struct {
	tone, symbol string
	// word is for people; empty means the state itself.
	word string
}

// The tones. There is one colour for each, in kalypso.css.
const (
	good = "good" // it is as it should be
	move = "move" // it is on its way
	warn = "warn" // somebody has to look
	bad  = "bad"  // it failed
	off  = "off"  // nobody knows, or nothing is there
)

// manners are those of all states, phases, results and steps: what a word means is the same everywhere.
var manners = map[string]manner{
	"reached": {good, "✓", ""}, "ready": {good, "✓", ""}, "deployed": {good, "✓", ""}, "passed": {good, "✓", ""}, "arrived": {good, "✓", ""},
	"behind": {move, "◐", ""}, "progressing": {move, "◐", ""}, "deploying": {move, "◐", ""}, "verifying": {move, "◐", ""},
	"promoted": {move, "◐", ""}, "proposed": {move, "◐", ""}, "waiting": {move, "◐", ""}, "waits": {move, "◐", ""}, "running": {move, "◐", ""},
	"open": {move, "◐", ""}, "entered": {move, "◐", ""}, "published": {move, "◐", ""}, "candidate": {move, "◐", "comes next"},
	"failed": {bad, "✕", ""}, "timedOut": {bad, "✕", "timed out"}, "error": {bad, "✕", ""}, "aborted": {bad, "✕", ""},
	"held": {warn, "▲", ""}, "refused": {warn, "▲", ""}, "paused": {warn, "▲", ""}, "warning": {warn, "▲", ""}, "closed": {warn, "▲", ""},
	"nobody": {warn, "▲", "no clusters"}, "withdrawn": {warn, "▲", ""},
	"offline": {off, "⊘", ""}, "missing": {off, "?", ""}, "suspended": {off, "‖", ""}, "unknown": {off, "○", ""}, "empty": {off, "○", "nothing yet"},
	"notice": {off, "○", ""}, "revoked": {off, "⊘", ""}, "unregistered": {off, "?", "not registered"},
	"notYet": {off, "○", "not there yet"}, "registered": {good, "✓", ""}, "merged": {good, "✓", ""}, "opened": {move, "◐", ""},
	"decided": {off, "·", ""}, "shown": {off, "·", ""}, "verified": {off, "·", ""}, "resumed": {off, "·", ""}, "ordered": {move, "◐", ""}, "fulfilled": {good, "✓", ""},
	"assigned": {off, "·", ""},
	"added":    {move, "+", ""}, "changed": {move, "~", ""}, "removed": {bad, "−", ""},
}

// mannerOf is how a state is shown; one that nobody knows is shown as it is.
func mannerOf(state any) manner {
	name := fmt.Sprint(state)
	m, ok := manners[name]
	if !ok {
		m = manner{off, "○", line(name)}
	}
	if m.word == "" {
		m.word = name
	}
	return m
}

func tone(state any) string   { return mannerOf(state).tone }
func symbol(state any) string { return mannerOf(state).symbol }
func word(state any) string   { return mannerOf(state).word }

// line is a text of others: on one line, without credentials, and with marks where there is something that nobody would see.
func line(text any) string { return visible.Line(secret.Mask(fmt.Sprint(text))) }

// lines is such a text on several lines, as it is: differences keep their blanks.
func lines(text string) string { return visible.Text(secret.Mask(text)) }

// sentence begins with a capital and ends with a full stop.
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

// isHash reports whether a text is a full hash, or the beginning of one.
func isHash(text string) bool {
	return len(text) >= 7 && len(text) <= 64 && strings.Trim(text, "0123456789abcdef") == ""
}

// short is a commit as people write it.
func short(sha string) string {
	if isHash(sha) {
		return sha[:7]
	}
	return line(sha)
}

// isLink reports whether an address of others may be followed: only on the web.
func isLink(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

// reach is an address that leads there. The ledger writes the addresses of repositories without regard to the protocol.
func (p *Pages) reach(address string) string {
	if p.Reach == nil {
		return address
	}
	return p.Reach(address)
}

// reason is why something is as it is, and the page that it speaks of.
type reason struct{ Text, URL string }

// speaksOf finds the page at the end of a reason, where decisions name it.
var speaksOf = regexp.MustCompile(` \((https?://[^\s()]+)\)$`)

// reasonOf takes the address out of a reason, which is a link and not to be read.
func reasonOf(text string) reason {
	if found := speaksOf.FindStringSubmatch(text); found != nil && isLink(found[1]) {
		return reason{strings.TrimSuffix(text, found[0]), found[1]}
	}
	return reason{Text: text}
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// ago is how long ago something was, in the largest unit that makes sense.
func ago(d time.Duration) string {
	switch {
	case d < 0:
		return "in " + lasting(-d)
	case d < time.Minute:
		return "just now"
	}
	return lasting(d) + " ago"
}

// lasting is a duration in the largest unit that makes sense.
func lasting(d time.Duration) string {
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

// count is a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if strings.HasSuffix(thing, "s") {
		thing += "e"
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// cut shortens a text to a number of characters.
func cut(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// shellWord quotes a word for a shell, where it needs that.
func shellWord(text string) string {
	safe := func(r rune) bool {
		return r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("-_./:@=,+", r)
	}
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !safe(r) }) {
		return text
	}
	return "'" + strings.ReplaceAll(line(text), "'", `'\''`) + "'"
}

// command is a command that says the same as a page.
func (s *site) command(words ...string) string {
	if s.URL != "" {
		words = append(words, "--server", s.URL)
	}
	return commandLine(words...)
}

// commandLine is a command for a shell. Empty words are left out.
func commandLine(words ...string) string {
	all := []string{"kalypso"}
	for _, w := range words {
		if w != "" {
			all = append(all, shellWord(w))
		}
	}
	return strings.Join(all, " ")
}
