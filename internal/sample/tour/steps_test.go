package tour

import "testing"

// TestEveryStepSuggestsAChange: the suggested edit changes something, also if the steps before were skipped. A step
// that suggests nothing could only be skipped.
func TestEveryStepSuggestsAChange(t *testing.T) {
	database := "data:\n  DATABASE_URL: mysql://west:8806/db\n"
	for _, s := range steps {
		for _, content := range map[string][]string{"VERSION": {"1.0.0\n"}, "support.yaml": {"", support}}[fileOf(s)] {
			if suggested := s.change.suggest(content); suggested == "" || suggested == content && s.name == "number" {
				t.Errorf("%s suggests %q for %q", s.title, suggested, content)
			}
		}
		if s.name == "database" && s.change.suggest(database) == database {
			t.Errorf("%s suggests nothing", s.title)
		}
	}
}

func fileOf(s step) string {
	if s.change == nil {
		return ""
	}
	return s.change.file
}
