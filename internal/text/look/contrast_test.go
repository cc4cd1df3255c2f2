package look

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestFonts has the hashes of the fonts in the packages that the comment of this package names.
func TestFonts(t *testing.T) {
	for name, want := range map[string]string{
		"inter.woff2": "3100e775e8616cd2611beecfa23a4263d7037586789b43f035236a2e6fbd4c62",
		"mono.woff2":  "18be452724bfdc236c074ca94a249a7f41a86752c7d04ab258ce9ed5651f6a7e",
	} {
		font, contentType := Read(name)
		if sum := sha256.Sum256(font); hex.EncodeToString(sum[:]) != want || contentType != Font {
			t.Errorf("%s has the hash %x and the type %q", name, sum, contentType)
		}
	}
	for _, name := range []string{"inter-license.txt", "mono-license.txt"} {
		if text, _ := Read(name); !strings.Contains(string(text), "SIL OPEN FONT LICENSE Version 1.1") {
			t.Errorf("%s is not the license", name)
		}
	}
}

// TestFilesAreServed: the style sheet loads only files that are in the list of those that are served.
func TestFilesAreServed(t *testing.T) {
	served := map[string]bool{}
	for _, name := range Names() {
		served[name] = true
		if content, contentType := Read(name); len(content) == 0 || contentType == "" {
			t.Errorf("%s cannot be read", name)
		}
	}
	css, _ := Read("kalypso.css")
	for _, m := range regexp.MustCompile(`url\(([^)]*)\)`).FindAllStringSubmatch(string(css), -1) {
		if !served[m[1]] {
			t.Errorf("the style sheet loads %q", m[1])
		}
	}
}

// TestContrast checks the contrast of light and dark colors (WCAG 2.2 AA: 4.5 to 1 for text).
func TestContrast(t *testing.T) {
	css, _ := Read("kalypso.css")
	colours := map[string][2]string{}
	for _, m := range regexp.MustCompile(`--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);`).FindAllStringSubmatch(string(css), -1) {
		colours[m[1]] = [2]string{m[2], m[3]}
	}
	texts := map[string][]string{
		"text": {"panel", "back", "raised", "hover", "off-wash", "good-wash", "move-wash", "warn-wash", "bad-wash"}, "muted": {"panel", "back", "hover", "off-wash"},
		"faint": {"panel", "back"}, "link": {"panel", "back", "hover", "move-wash"}, "on-act": {"act", "act-hover", "danger", "danger-hover"},
	}
	for _, tone := range []string{"good", "move", "warn", "bad", "off"} {
		texts[tone] = []string{"panel", "back", "hover", tone + "-wash"}
	}
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
