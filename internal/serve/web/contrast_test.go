package web

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"
)

// TestContrast checks the contrast of light and dark colors (WCAG 2.2 AA: 4.5 to 1 for text, 3 to 1 for other content).
func TestContrast(t *testing.T) {
	css, err := files.ReadFile("pages/kalypso.css")
	if err != nil {
		t.Fatal(err)
	}
	colours := map[string][2]string{}
	for _, m := range regexp.MustCompile(`--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);`).FindAllStringSubmatch(string(css), -1) {
		colours[m[1]] = [2]string{m[2], m[3]}
	}
	texts := map[string][]string{}
	for _, name := range []string{"text", "muted", "link", good, move, warn, bad, off} {
		texts[name] = []string{"page", "box"}
	}
	for _, tone := range []string{good, move, warn, bad, off} {
		texts[tone] = append(texts[tone], tone+"-soft")
	}
	texts["text"] = append(texts["text"], "warn-soft")
	for name, grounds := range texts {
		for _, ground := range grounds {
			for i, scheme := range []string{"light", "dark"} {
				if got := contrast(t, colours[name][i], colours[ground][i]); got < 4.5 {
					t.Errorf("%s on %s, %s: %.2f to 1", name, ground, scheme, got)
				}
			}
		}
	}
}

// contrast returns the contrast ratio as WCAG defines it, from 1 to 21.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (math.Max(x, y) + 0.05) / (math.Min(x, y) + 0.05)
}

func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	if len(colour) != 7 {
		t.Fatalf("%q is not a color", colour)
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(fmt.Errorf("%q: %w", colour, err))
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
