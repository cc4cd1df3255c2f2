package kalypso

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestCIRunsTheSameEverywhere: the script for one machine, the workflow of GitHub and the text for contributors name the same targets of
// make, in the same order, and these exist.
func TestCIRunsTheSameEverywhere(t *testing.T) {
	var script []string
	for _, list := range regexp.MustCompile(`(?m)^(?:first|beside|then)="(.+)"$`).FindAllStringSubmatch(readText(t, ".ci/run"), -1) {
		script = append(script, strings.Fields(list[1])...)
	}
	if len(script) == 0 {
		t.Fatal(".ci/run has no targets")
	}

	var workflow struct {
		Jobs map[string]struct {
			Strategy struct {
				Matrix struct {
					Target []string `json:"target"`
				} `json:"matrix"`
			} `json:"strategy"`
		} `json:"jobs"`
	}
	if err := yaml.Unmarshal([]byte(readText(t, ".github/workflows/ci.yml")), &workflow); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(script, workflow.Jobs["ci"].Strategy.Matrix.Target); diff != "" {
		t.Errorf("the matrix of .github/workflows/ci.yml (-.ci/run +workflow):\n%s", diff)
	}

	contributing, makefile := readText(t, "CONTRIBUTING.md"), readText(t, "Makefile")
	sentence := regexp.MustCompile(`(?s)\nCI runs (.+?):`).FindString(contributing)
	var told []string
	for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(sentence, -1) {
		told = append(told, name[1])
	}
	if diff := cmp.Diff(script, told); diff != "" {
		t.Errorf("what CONTRIBUTING.md says that CI runs (-.ci/run +CONTRIBUTING.md):\n%s", diff)
	}
	for _, target := range script {
		if !regexp.MustCompile(`(?m)^` + target + `:.* ## `).MatchString(makefile) {
			t.Errorf("Makefile: no target %s, or without a description", target)
		}
		if !strings.Contains(contributing, "\n| `make "+target+"` |") {
			t.Errorf("CONTRIBUTING.md does not say what make %s does", target)
		}
	}
}
