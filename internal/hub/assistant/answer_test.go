package assistant

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestAnswersAreSmall, whatever a repository or a cluster puts into them, and say what was left out.
func TestAnswersAreSmall(t *testing.T) {
	many := make([]map[string]string, 10_000)
	for i := range many {
		many[i] = map[string]string{"name": fmt.Sprintf("cluster-%05d", i), "reason": strings.Repeat("é", 200)}
	}
	for name, tc := range map[string]struct {
		value any
		// want and gone are parts of the answer, or not.
		want, gone string
		shortened  bool
	}{
		"small":     {many[:3], "cluster-00002", "shortened", false},
		"long list": {many, "cluster-00000", "cluster-09999", true},
		"long text": {map[string]string{"message": strings.Repeat("x", 1<<20)}, "xxx…", "", true},
		"nested":    {[]any{[]any{many, many}, map[string]any{"a": many}}, "cluster-00000", "cluster-09999", true},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := encode(tc.value)
			if err != nil {
				t.Fatal(err)
			}
			var decoded answer
			if err := json.Unmarshal(text, &decoded); err != nil || len(text) > MaxAnswer {
				t.Fatalf("%d bytes, %v", len(text), err)
			}
			if (decoded.Shortened != "") != tc.shortened || !strings.Contains(string(text), tc.want) || tc.gone != "" && strings.Contains(string(text), tc.gone) {
				t.Errorf("shortened %q: %.200s", decoded.Shortened, text)
			}
		})
	}
	wide := map[string]string{}
	for i := range 10_000 {
		wide[fmt.Sprint(i)] = "value"
	}
	if text, err := encode(wide); err == nil {
		t.Errorf("a map with many keys is an answer of %d bytes", len(text))
	}
}
