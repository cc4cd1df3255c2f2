package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Lines of a file that look like the header of another file are still added and removed lines.
func TestDiffLines(t *testing.T) {
	const text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n--- a/safe\n+++ b/safe\n+@@ -1 +1 @@\n" +
		"diff --git a/y b/y\nnew file mode 100644\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+y\n\\ No newline at end of file\n"
	head := func(text string) DiffLine { return DiffLine{Head: true, Text: text} }
	want := []DiffLine{
		head("diff --git a/x b/x"), head("--- a/x"), head("+++ b/x"), head("@@ -1,2 +1,2 @@"),
		{Text: " same"},
		{Op: Removed, Text: "--- a/safe"},
		{Op: Added, Text: "+++ b/safe"},
		{Op: Added, Text: "+@@ -1 +1 @@"},
		head("diff --git a/y b/y"), head("new file mode 100644"), head("--- /dev/null"), head("+++ b/y"), head("@@ -0,0 +1 @@"),
		{Op: Added, Text: "+y"},
		{Text: `\ No newline at end of file`},
	}
	if diff := cmp.Diff(want, DiffLines(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
