package local

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/kalypso-io/kalypso/internal/text/look"
)

// All colors of code are readable, light and dark, also on added and removed lines
// (WCAG 2.2 AA: 4.5 to 1).
func TestContrast(t *testing.T) {
	own, err := pageFiles.ReadFile("pages/style.css")
	if err != nil {
		t.Fatal(err)
	}
	shared, _ := look.Read("kalypso.css")
	style := slices.Concat(shared, own)
	colours := map[string][2]string{}
	for _, m := range regexp.MustCompile(`--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)`).FindAllSubmatch(style, -1) {
		colours[string(m[1])] = [2]string{string(m[2]), string(m[3])}
	}
	for _, class := range regexp.MustCompile(`\.(c-\w+) \{ color: var\(--(c-\w+)\)`).FindAllSubmatch(style, -1) {
		if string(class[1]) != string(class[2]) {
			t.Errorf("class %s has the colour %s", class[1], class[2])
		}
	}
	for text, grounds := range map[string][]string{
		"text": {"panel", "back", "good-wash", "bad-wash"}, "muted": {"panel", "back", "off-wash"}, "done": {"panel", "back"},
		"c-comment": {"panel", "good-wash", "bad-wash"}, "c-keyword": {"panel", "good-wash", "bad-wash"}, "c-string": {"panel", "good-wash", "bad-wash"},
		"c-number": {"panel", "good-wash", "bad-wash"}, "c-name": {"panel", "good-wash", "bad-wash"},
	} {
		for _, ground := range grounds {
			for i, scheme := range []string{"light", "dark"} {
				a, b := luminance(t, colours[text][i]), luminance(t, colours[ground][i])
				if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.2f", scheme, text, ground, ratio)
				}
			}
		}
	}
}

// luminance returns the brightness of a color, from 0 to 1, as WCAG defines it.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(colour[min(1, len(colour)):], 16, 32)
	if err != nil {
		t.Fatalf("colour %q: %v", colour, err)
	}
	channel := func(shift uint) float64 {
		c := float64(n>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(16) + 0.7152*channel(8) + 0.0722*channel(0)
}
