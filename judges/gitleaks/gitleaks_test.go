package gitleaks

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/check"
)

// generic is the rule for values with names such as "password". Kalypso looks for it only around such names.
const generic = "generic-api-key"

// TestPatternsAreThoseOfGitleaks compares the embedded patterns with those of the version in go.mod.
func TestPatternsAreThoseOfGitleaks(t *testing.T) {
	file := filepath.Join("..", "..", "internal", "check", "patterns.json")
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Export()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(have)); diff != "" {
		t.Errorf("go generate ./internal/check writes them again (-gitleaks +ours):\n%s", diff)
	}
}

// judge returns what both find in a text: line and rule, sorted.
func judge(t *testing.T) (gitleaks, ours func(text string) []string) {
	t.Helper()
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	c, err := check.New(check.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	gitleaks = func(text string) []string {
		var all []string
		for _, f := range d.Detect(detect.Fragment{Raw: text}) { //nolint:staticcheck // its successor is for the next major version
			all = append(all, fmt.Sprintf("%d %s", f.StartLine+1, f.RuleID))
		}
		return set(all)
	}
	ours = func(text string) []string {
		var all []string
		for _, f := range c.Credentials(map[string][]byte{"a.txt": []byte(text)}) {
			if f.Rule == check.RuleSecret {
				all = append(all, fmt.Sprintf("%d %s", f.Line, strings.TrimSuffix(strings.TrimPrefix(f.Message, "looks like a credential ("), ")")))
			}
		}
		return set(all)
	}
	return gitleaks, ours
}

func set(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}

// TestFindsWhatGitleaksFinds compares what both find in texts that are made of each pattern, and of what both treat specially: exceptions, line
// ends, and matches in the first and the last line.
func TestFindsWhatGitleaksFinds(t *testing.T) {
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	var rules []config.Rule
	for _, r := range d.Config.Rules {
		if r.RuleID != generic && r.Regex != nil {
			rules = append(rules, r)
		}
	}
	slices.SortFunc(rules, func(a, b config.Rule) int { return strings.Compare(a.RuleID, b.RuleID) })
	gitleaks, ours := judge(t)
	around := []string{"", "\n", "\r\n", "a: b\n", "x", " # gitleaks:allow", "\n# gitleaks:allow\n", "\"", "EXAMPLE", "\n\n", "token="}
	found := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(1, 4).Draw(t, "parts") {
			b.WriteString(rapid.SampledFrom(around).Draw(t, "before"))
			r := rapid.SampledFrom(rules).Draw(t, "rule")
			if k := r.Keywords; len(k) > 0 {
				b.WriteString(rapid.SampledFrom([]string{"", k[0] + "\n"}).Draw(t, "keyword"))
			}
			b.WriteString(rapid.StringMatching(simplified(r.Regex.String())).Draw(t, "match"))
			b.WriteString(rapid.SampledFrom(around).Draw(t, "after"))
		}
		text := b.String()
		if len(text) > 1024 {
			t.Skip("of longer lines, ours reads what is near a match")
		}
		specific := func(all []string) []string {
			return slices.DeleteFunc(all, func(f string) bool { return strings.HasSuffix(f, " "+generic) })
		}
		want, got := specific(gitleaks(text)), specific(ours(text))
		for _, f := range got {
			found[f[strings.Index(f, " "):]] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("in %q, gitleaks (-) and we (+) find\n%s", text, diff)
		}
	})
	if len(found) < 10 {
		t.Errorf("only %d patterns found something", len(found))
	}
}

// simplified returns a pattern without the conditions on what is around a match, for which no text can be made.
func simplified(pattern string) string {
	return strings.NewReplacer(`\b`, "", "^", "", "$", "").Replace(pattern)
}

// public matches lines that gitleaks takes for a credential by their name, and that Kalypso knows to be public.
var public = regexp.MustCompile(`(?i)checksum|sha256sum|pub(lic)?[_-]?key`)

// TestLookingAtFewLinesMissesNothing checks that a search around names finds the same as a search of the whole text, even if names,
// operators and values are on different lines.
func TestLookingAtFewLinesMissesNothing(t *testing.T) {
	gitleaks, ours := judge(t)
	const token, pat = "q8Jz3vN0xKd71LmPw5Rt", "ghp_" + "x8Kd2Lm9Pq4Rt7Vw1Zb3Nc5Jf6Hg0Ys8Ad2E" //nolint:gosec // invented
	filler := []string{"spec:", "  replicas: 2", "", "- name: web", "apiVersion: v1", "kind: ConfigMap", "  - apiVersion: apps/v1", "x: \"", "# wörter", "\r"}
	names := []string{"key", "  apiKey", "db_password", "SECRET", "my.token", "credentials", "access", "authx", "\"creds\"", "api", "apiVersion", "APIVERSION", "token: " + pat, "Kelvin_\u212aey"}
	signs := []string{":", ": ", " = ", ",", ":\n\n", "\n\n\n:\n\n\n\n\n", "=>", " \n:\n ", "?=\n\n\n", "'\n:\n'\n"}
	values := []string{token, "\"" + token + "\"", "aGVsbG8K" + token + "==", pat, "short", token + "\n" + token, token + "\\n", "example", token + ";"}
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(1, 6).Draw(t, "parts") {
			for _, line := range rapid.SliceOfN(rapid.SampledFrom(filler), 0, 12).Draw(t, "filler") {
				b.WriteString(line + "\n")
			}
			for _, of := range [][]string{names, signs, values, {"\n", " ", ""}} {
				b.WriteString(rapid.SampledFrom(of).Draw(t, "part"))
			}
		}
		text := b.String()
		want, got := gitleaks(text), ours(text)
		found += len(want)
		// gitleaks can miss one that begins in what it takes for the value of an apiVersion.
		for _, one := range want {
			if !slices.Contains(got, one) && !public.MatchString(text) {
				t.Fatalf("in %q, gitleaks finds %q, and we find %q", text, want, got)
			}
		}
		if len(got) > len(want) && !strings.Contains(text, "apiVersion") {
			t.Fatalf("in %q, gitleaks finds only %q, and we find %q", text, want, got)
		}
	})
	if found == 0 {
		t.Error("nothing was found in any text")
	}
}
