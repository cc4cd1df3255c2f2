package promote

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	oldCommit = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	newCommit = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// base returns a BaseRepo with a spec.
func base(spec string) string {
	return "# What is promoted.\nkind:   BaseRepo # odd spaces\nmetadata: {name: main}\n" + spec
}

func TestSetCommit(t *testing.T) {
	for name, tc := range map[string]struct{ before, after string }{
		"added after the last key": {
			base("spec:\n  repo: . # this repository\n\n  branch: main # the branch\n"),
			base("spec:\n  repo: . # this repository\n\n  branch: main # the branch\n  commit: NEW\n"),
		},
		"replaced where it is": {
			base("spec:\n    repo: .\n    commit:   OLD   # by hand\n    path: .\n"),
			base("spec:\n    repo: .\n    commit:   NEW   # by hand\n    path: .\n"),
		},
		"in its quotes":        {base("spec: \n  commit: 'OLD' # 'x'\n  repo: .\n"), base("spec: \n  commit: 'NEW' # 'x'\n  repo: .\n")},
		"empty, with a remark": {base("spec:\n  \"commit\" : # none yet\n  repo: .\n"), base("spec:\n  \"commit\" : NEW # none yet\n  repo: .\n")},
		"empty at the end":     {base("spec:\n  repo: .\n  commit:"), base("spec:\n  repo: .\n  commit: NEW")},
		"an empty text":        {base("spec:\n  commit: \"\"\n"), base("spec:\n  commit: \"NEW\"\n")},
		"null in a word":       {base("spec:\n  commit: ~\n"), base("spec:\n  commit: NEW\n")},
		"in braces":            {base("spec: {repo: ., branch: main} # short\n"), base("spec: {commit: NEW, repo: ., branch: main} # short\n")},
		"in empty braces":      {base("spec: {}\n"), base("spec: {commit: NEW}\n")},
		"in braces, replaced":  {base("spec: {\"repo\": \".\", \"commit\": \"OLD\"}\n"), base("spec: {\"repo\": \".\", \"commit\": \"NEW\"}\n")},
		"without a last line end": {
			base("spec:\n  repo: .\n  branch: main"), base("spec:\n  repo: .\n  branch: main\n  commit: NEW"),
		},
		"before a text of several lines": {
			base("spec:\n  repo: .\n  path: >-\n    a/b\n"), base("spec:\n  commit: NEW\n  repo: .\n  path: >-\n    a/b\n"),
		},
		"letters of several bytes, and one file for all": {
			"kind: Other\nspec: {ä: ö}\n---\n" + base("spec: {bränch: \"mäin\", commit: OLD, repo: .}\n") + "---\nkind: BaseRepo\nmetadata: {name: other}\nspec: {commit: OLD}\n",
			"kind: Other\nspec: {ä: ö}\n---\n" + base("spec: {bränch: \"mäin\", commit: NEW, repo: .}\n") + "---\nkind: BaseRepo\nmetadata: {name: other}\nspec: {commit: OLD}\n",
		},
		"a document follows": {
			base("spec:\n  repo: .\n") + "---\nkind: Other\n", base("spec:\n  repo: .\n  commit: NEW\n") + "---\nkind: Other\n",
		},
		"lines that end as on Windows": {
			strings.ReplaceAll(base("spec:\n  repo: .\n"), "\n", "\r\n"), strings.ReplaceAll(base("spec:\n  repo: .\n  commit: NEW\n"), "\n", "\r\n"),
		},
		"a mark of byte order": {"\ufeff" + base("spec:\n  commit: OLD\n"), "\ufeff" + base("spec:\n  commit: NEW\n")},
		"named like the other": {
			"kind: BaseRepo\nmetadata: {name: base}\nspec: {commit: OLD}\n---\n" + base("spec: {commit: OLD}\n"),
			"kind: BaseRepo\nmetadata: {name: base}\nspec: {commit: OLD}\n---\n" + base("spec: {commit: NEW}\n"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := strings.ReplaceAll(tc.before, "OLD", oldCommit)
			got, err := setCommit([]byte(before), "main", newCommit)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.ReplaceAll(strings.ReplaceAll(tc.after, "NEW", newCommit), "OLD", oldCommit), string(got)); diff != "" {
				t.Errorf("the file (-want +got):\n%s", diff)
			}
			again, err := setCommit(got, "main", newCommit)
			if err != nil || !bytes.Equal(got, again) {
				t.Errorf("a second time: %v\n%s", err, again)
			}
		})
	}
}

// TestSetCommitWritesNumbersAsTexts checks that a hash of digits is quoted, because YAML would read a number.
func TestSetCommitWritesNumbersAsTexts(t *testing.T) {
	for _, commit := range []string{strings.Repeat("1", 40), "12e" + strings.Repeat("4", 37), "0" + strings.Repeat("7", 39)} {
		got, err := setCommit([]byte(base("spec:\n  commit: "+oldCommit+"\n")), "main", commit)
		if want := base("spec:\n  commit: \"" + commit + "\"\n"); err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s", commit, err, got)
		}
	}
}

func TestSetCommitRefusesWhatItCannotEdit(t *testing.T) {
	for name, text := range map[string]string{
		"another name":              "kind: BaseRepo\nmetadata: {name: other}\nspec: {}\n",
		"no spec":                   base(""),
		"a list":                    base("spec: [a]\n"),
		"a text of several lines":   base("spec:\n  commit: >-\n    " + oldCommit + "\n"),
		"an anchor others refer to": base("spec:\n  commit: &c " + oldCommit + "\n  path: *c\n"),
		"a map from elsewhere":      "x: &s {repo: .}\n" + base("spec: *s\n"),
		"no YAML":                   "kind: [",
		"nothing":                   "",
		"keys that are no texts":    base("spec: {1: 2}\n"),
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := setCommit([]byte(text), "main", newCommit); err == nil && !strings.Contains(text, "1: 2") {
				t.Errorf("edited:\n%s", got)
			}
		})
	}
}

// FuzzSetCommit checks that no file causes a panic, and that a second edit changes nothing.
func FuzzSetCommit(f *testing.F) {
	for _, spec := range []string{"spec:\n  repo: .\n", "spec: {commit: x}\n", "spec:\n- a\n", "spec:\n  ? commit\n  : x\n", "spec:\r  repo: .\u2028  path: x\n", "<<: {spec: {}}\n"} {
		f.Add([]byte(base(spec)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := setCommit(slices.Clone(text), "main", newCommit)
		if err != nil {
			return
		}
		if again, err := setCommit(got, "main", newCommit); err != nil || !bytes.Equal(again, got) {
			t.Fatalf("a second time: %v\n%q\n%q", err, got, again)
		}
	})
}
