package web

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documentedStates reads the table of states in the documentation: the symbol and tone of each word.
func documentedStates(t *testing.T) map[string]stateStyle {
	t.Helper()
	text, err := os.ReadFile("../../../docs/reference/web.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## States\n")
	section, _, _ = strings.Cut(section, "\n## ")
	tones := map[string]string{"green": good, "blue": move, "amber": warn, "red": bad, "grey": off}
	words := map[string]stateStyle{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\S+) (\w+) \| (.*) \|$`).FindAllStringSubmatch(section, -1) {
		for _, word := range strings.Split(row[3], ", ") {
			if old, twice := words[word]; twice {
				t.Errorf("%q is %s and %s", word, old.tone, tones[row[2]])
			}
			words[word] = stateStyle{tone: tones[row[2]], symbol: row[1]}
		}
	}
	return words
}

// TestStatesHaveOneWord: a word has one color and one symbol on all pages, and the documentation lists all of them.
func TestStatesHaveOneWord(t *testing.T) {
	documented := documentedStates(t)
	used := map[string]bool{}
	for state := range stateStyles {
		word, is := label(state), documented[label(state)]
		used[word] = true
		if is.tone != tone(state) || is.symbol != symbol(state) {
			t.Errorf("%s is %s %s, and %q is %s %s in docs/reference/web.md", state, symbol(state), tone(state), word, is.symbol, is.tone)
		}
	}
	for word := range documented {
		if !used[word] {
			t.Errorf("docs/reference/web.md lists %q, which no state has", word)
		}
	}
	for _, kind := range needLabels {
		if is, ok := documented[kind.label]; ok && is.tone != kind.tone {
			t.Errorf("a need is %q and %s, the state is %s", kind.label, kind.tone, is.tone)
		}
	}
}

// Words in templates and in the tour that are written out: a tone and what follows it.
var (
	writtenState = regexp.MustCompile(`class="state (\w+)"[^>]*><span aria-hidden="true">(.)</span> ([^<{]+)<`)
	tourState    = regexp.MustCompile(`State: "([^"]+)", Tone: "(\w+)"`)
	tourArrived  = regexp.MustCompile(`\.State, \w+\.Tone(?:, [\w.]+)* = "([^"]+)", "(\w+)"`)
)

// TestWrittenStatesAreKnown reads the templates of all pages, those of the tour and of the embedded forge too: a state
// that they write out has the word, the color and the symbol that it has elsewhere.
func TestWrittenStatesAreKnown(t *testing.T) {
	documented, found := documentedStates(t), 0
	check := func(file, word, tone, symbol string) {
		found++
		is, ok := documented[word]
		if !ok || is.tone != tone || symbol != "●" && symbol != "" && is.symbol != symbol {
			t.Errorf("%s: %q is %s %s, and %s %s in docs/reference/web.md", file, word, symbol, tone, is.symbol, is.tone)
		}
	}
	err := filepath.WalkDir("../..", func(file string, d fs.DirEntry, err error) error {
		tour := strings.HasSuffix(file, filepath.Join("sample", "tour", "view.go"))
		if err != nil || d.IsDir() || !tour && filepath.Ext(file) != ".html" || strings.Contains(file, "testdata") {
			return err
		}
		text, err := os.ReadFile(file)
		for _, m := range writtenState.FindAllStringSubmatch(string(text), -1) {
			if m[3] != "live" { // the page is, not what it shows
				check(file, m[3], m[1], m[2])
			}
		}
		if tour {
			for _, m := range slices.Concat(tourState.FindAllStringSubmatch(string(text), -1), tourArrived.FindAllStringSubmatch(string(text), -1)) {
				check(file, m[1], m[2], "")
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 10 {
		t.Errorf("found %d words, so this test does not find them any more", found)
	}
}
