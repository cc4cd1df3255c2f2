package terminal

import (
	"strings"
	"testing"
)

func TestStyleIsForTerminals(t *testing.T) {
	file := New(nil, strings.NewReader(""), &strings.Builder{}, &strings.Builder{})
	if got := file.OutStyle.Red("x"); got != "x" {
		t.Errorf("got %q, want no style in a file", got)
	}
	if got, want := (Style{On: true}).Red("x"), "\x1b[31mx\x1b[0m"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (Style{On: true}).Red(""); got != "" {
		t.Errorf("got %q, want nothing painted", got)
	}
}
