package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
	"pgregory.net/rapid"
)

// said formats findings, sorted: rule, line and secret.
func said(findings []credential) []string {
	var all []string
	for _, f := range findings {
		all = append(all, fmt.Sprintf("%s %d %s", f.rule, f.line, f.secret))
	}
	slices.SortFunc(all, cmp.Compare)
	return all
}

// whole returns what gitleaks finds in a complete text.
func whole(t testing.TB) func(text string) []credential {
	t.Helper()
	all, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) []credential {
		var found []credential
		for _, f := range all.Detect(detect.Fragment{Raw: text}) { //nolint:staticcheck // its successor is for the next major version
			found = append(found, credential{f.RuleID, f.StartLine, f.Secret})
		}
		return found
	}
}

// TestLookingAtFewLinesMissesNothing checks that a search around the words finds the same as a search of the whole
// text, even if names, operators and values are on different lines.
func TestLookingAtFewLinesMissesNothing(t *testing.T) {
	all, some := whole(t), must(t)
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
		ours, _ := some.find(text)
		want, got := said(all(text)), said(ours)
		found += len(want)
		// gitleaks can miss one that begins in what it takes for the value of an apiVersion.
		for _, one := range want {
			if !slices.Contains(got, one) {
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

func must(t testing.TB) *patterns {
	t.Helper()
	p, err := newPatterns()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestGenericPattern detects changes of the pattern that windows are
// designed for. If it fails, check words and reach.
func TestGenericPattern(t *testing.T) {
	const want = `(?i)[\w.-]{0,50}?(?:access|auth|(?-i:[Aa]pi|API)|credential|creds|key|passw(?:or)?d|secret|token)(?:[ \t\w.-]{0,20})` +
		`[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}([\w.=-]{10,150}|[a-z0-9][a-z0-9+/]{11,}={0,3})(?:[\x60'"\s;]|\\[nr]|$)`
	p := must(t)
	if len(p.generic.rules) != 1 || p.generic.rules[0].Regex.String() != want {
		t.Errorf("the pattern is now\n%v", p.generic.rules)
	}
	if len(p.specific.rules) < 200 || slices.ContainsFunc(p.specific.rules, func(r config.Rule) bool { return strings.Contains(r.RuleID, "generic") }) {
		t.Errorf("the others are %d", len(p.specific.rules))
	}
}

func TestWindows(t *testing.T) {
	lines := strings.Split(strings.Repeat("a: 1\n", 30), "\n")
	lines[3], lines[8], lines[25] = "key: 1", "token:", "api: x"
	text := strings.Join(lines, "\n")
	got := windows(text)
	want := []window{{strings.Join(lines[3:17], "\n") + "\n", 3}, {strings.Join(lines[25:], "\n"), 25}}
	if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(window{})); diff != "" {
		t.Error(diff)
	}
	for _, none := range []string{"", "apiVersion: v1\nkind: Pod\n", "  - apiVersion: v1\n"} {
		if got := windows(none); len(got) > 0 {
			t.Errorf("%q has %+v", none, got)
		}
	}
}
