package main

import (
	"testing"
	"testing/fstest"

	"github.com/kalypso-io/kalypso/internal/sample/scaffold"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// TestWorkflowsCallCommandsThatExist: what workflows call, this program has.
func TestWorkflowsCallCommandsThatExist(t *testing.T) {
	data := scaffold.Facts{Version: "v1.2.3", Own: scaffold.StepsOf(fstest.MapFS{}), Environments: []schedule.EnvironmentBranch{{Environment: "dev", Branch: "dev"}}}
	called := 0
	for _, runner := range scaffold.Forges {
		for _, target := range scaffold.Kinds {
			files, err := runner.Workflows(target, data)
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range files {
				for _, line := range kalypsoLines(string(text)) {
					called++
					if err := parseCommandLine(line); err != nil {
						t.Errorf("%s of %s, %s: %s: %v", runner.Name, target, name, line, err)
					}
				}
			}
		}
	}
	if called == 0 {
		t.Error("nothing is called")
	}
}
