package words_test

import (
	"fmt"
	"testing"
	"unicode/utf8"

	"github.com/kalypso-io/kalypso/internal/text/words"
)

// TestChanged shows both lines with what differs in brackets; empty if nothing is marked.
func TestChanged(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"replicas: 2", "replicas: 12", "replicas: [2] / replicas: [12]"},
		{"image: shop:1.0.0", "image: shop:1.0.1", "image: shop:1.0.[0] / image: shop:1.0.[1]"},
		{"url: mysql://west:8806/db", "url: mysql://west-2:8806/db", "url: mysql://west[]:8806/db / url: mysql://west[-2]:8806/db"},
		{"name: höhe", "name: höhle", "name: [höhe] / name: [höhle]"},
		{"a", "a", ""},
		{"abc", "xyz", ""},
		{"x: 1", "completely: different", ""},
	} {
		got := ""
		if b, a, ok := words.Changed(c.before, c.after); ok {
			got = b.Prefix + "[" + b.Changed + "]" + b.Suffix + " / " + a.Prefix + "[" + a.Changed + "]" + a.Suffix
		}
		if got != c.want {
			t.Errorf("%q and %q: got %q, want %q", c.before, c.after, got, c.want)
		}
	}
}

// TestPairs: lines are paired where as many are added as removed before them.
func TestPairs(t *testing.T) {
	for diff, want := range map[string]string{
		" -+ ": "1>2 ", "--++": "0>2 1>3 ", "--+ -+": "4>5 ", "+-": "", "": "", "-": "", "-+-+": "0>1 2>3 ", "@-+": "1>2 ",
	} {
		got := ""
		words.Pairs(len(diff), func(i int) byte { return diff[i] }, func(removed, added int) { got += fmt.Sprintf("%d>%d ", removed, added) })
		if got != want {
			t.Errorf("%q: got %q, want %q", diff, got, want)
		}
	}
}

// FuzzChanged: the parts are the lines again, the shared ones are equal, and no character is cut.
func FuzzChanged(f *testing.F) {
	f.Add("replicas: 2", "replicas: 12")
	f.Add("ab\xffb", "ab\xfeb")
	f.Fuzz(func(t *testing.T, before, after string) {
		b, a, ok := words.Changed(before, after)
		if !ok {
			return
		}
		if b.Prefix+b.Changed+b.Suffix != before || a.Prefix+a.Changed+a.Suffix != after || b.Prefix != a.Prefix || b.Suffix != a.Suffix {
			t.Errorf("%+q and %+q: %+q and %+q", before, after, b, a)
		}
		for _, part := range []string{b.Changed, a.Changed} {
			if utf8.ValidString(before) && utf8.ValidString(after) && !utf8.ValidString(part) {
				t.Errorf("%q is cut within a character", part)
			}
		}
	})
}
