package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/check/scan"
)

func TestProgramsOfScans(t *testing.T) {
	tools := t.TempDir()
	tool := filepath.Join(tools, "scanner")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\necho scanned\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", tools+":/bin:/usr/bin")
	listed, anyone, nobody := &Runner{Programs: []string{"sh", tool}}, &Runner{Any: true}, &Runner{}
	for name, tc := range map[string]struct {
		r       *Runner
		program string
		wrong   string
	}{
		"a whole path":                {listed, tool, ""},
		"a name that is listed":       {listed, "scanner", ""},
		"a name by hand":              {anyone, "scanner", ""},
		"nobody allowed it":           {nobody, "scanner", "not allowed"},
		"not by its path":             {listed, "./scanner", "not allowed"},
		"listed without a path":       {listed, "sh", "not allowed"},
		"not there":                   {anyone, "no-such-scanner", "find the program"},
		"one of that name, elsewhere": {listed, "/usr/bin/scanner", "not allowed"},
		"no program":                  {anyone, "", "empty"},
	} {
		ended, err := tc.r.Scan(t.Context(), scan.Command{Args: []string{tc.program}, Timeout: time.Minute})
		if tc.wrong == "" && (err != nil || ended.Code != 3 || ended.Output != "scanned") {
			t.Errorf("%s: got %+v, %v", name, ended, err)
		}
		if tc.wrong != "" && (err == nil || !strings.Contains(err.Error(), tc.wrong)) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
