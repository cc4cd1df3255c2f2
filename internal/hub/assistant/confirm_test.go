package assistant

import (
	"strings"
	"testing"
	"time"
)

// TestCodesConfirmOneThing: a code is valid for what it is about, for a short time, and only with the key.
func TestCodesConfirmOneThing(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	key, about := []byte("a key"), []string{"pause", "ann", "dev", "it fails"}
	code := codeOf(key, now.Add(confirmFor), about...)
	for name, tc := range map[string]struct {
		code  string
		key   string
		at    time.Time
		about []string
		want  bool
	}{
		"the same":          {code, "a key", now, about, true},
		"just in time":      {code, "a key", now.Add(confirmFor - time.Second), about, true},
		"too late":          {code, "a key", now.Add(confirmFor), about, false},
		"another caller":    {code, "a key", now, []string{"pause", "ben", "dev", "it fails"}, false},
		"another place":     {code, "a key", now, []string{"pause", "ann", "prod", "it fails"}, false},
		"another reason":    {code, "a key", now, []string{"pause", "ann", "dev", "it is late"}, false},
		"moved parts":       {code, "a key", now, []string{"pause", "annd", "ev", "it fails"}, false},
		"another key":       {code, "key", now, about, false},
		"none":              {"", "a key", now, about, false},
		"the question":      {"pause dev", "a key", now, about, false},
		"cut":               {code[:len(code)-1], "a key", now, about, false},
		"a later end":       {strings.Replace(code, code[:13], codeOf(key, now.Add(time.Hour), about...)[:13], 1), "a key", now, about, false},
		"a far end, forged": {codeOf([]byte("guess"), now.AddDate(50, 0, 0), about...), "a key", now, about, false},
	} {
		if got := confirms(tc.code, []byte(tc.key), tc.at, tc.about...); got != tc.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
