package web

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// TestDiffLinesMarkWords: what differs within a line is marked, and a secret stays hidden as in the whole line.
func TestDiffLinesMarkWords(t *testing.T) {
	const token = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
	got := diffLines(plan.DiffLines("diff --git a/x b/x\n@@ -1,2 +1,2 @@\n-replicas: 2\n+replicas: 12\n url: x\n" +
		"@@ -9 +9 @@\n-url: https://me:" + token + "@git.example.com/a\n+url: https://me:" + token + "@git.example.com/b\n"))
	if b, a := got[2], got[3]; b.Before != "-replicas: " || b.Changed != "2" || a.Before != "+replicas: " || a.Changed != "12" {
		t.Errorf("got %+v and %+v", b, a)
	}
	for _, l := range got {
		if text := l.Before + l.Changed + l.After; strings.Contains(text, token[4:12]) {
			t.Errorf("it shows a secret: %s", text)
		}
	}
	if last := got[len(got)-1]; last.Changed != "b" {
		t.Errorf("got %+v", last)
	}
}
