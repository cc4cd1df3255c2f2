package terminal

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTableAlignsWhatATerminalShows(t *testing.T) {
	s := Style{On: true}
	table := Table{Indent: "  "}
	table.Row(Painted(s.Green, "+"), Plain("drone"), Plain("by functional-test-policy"))
	table.Row(Painted(s.Red, "!"), Plain("東京"), Plain("held"))
	table.Row(Plain("~"), Plain("a\x1bb"), Plain(""))
	table.Row(Plain("nothing follows this cell, so it may be as long as it likes"))

	var b strings.Builder
	if err := table.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"  \x1b[32m+\x1b[0m  drone   by functional-test-policy",
		"  \x1b[31m!\x1b[0m  東京    held",
		"  ~  a\\x1bb",
		"  nothing follows this cell, so it may be as long as it likes",
		"",
	}, "\n")
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDisplayWidth(t *testing.T) {
	for text, want := range map[string]int{
		"":           0,
		"drone":      5,
		"größer":     6,
		"gro\u0308ß": 4, // o and a combining diaeresis
		"東京":         4,
		"ａ":          2, // full width
		"─►":         2,
	} {
		if got := displayWidth(text); got != want {
			t.Errorf("displayWidth(%q) is %d, want %d", text, got, want)
		}
	}
}
