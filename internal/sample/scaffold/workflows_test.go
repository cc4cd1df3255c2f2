package scaffold

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/mod/modfile"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/schedule"
)

// everyWorkflow calls f with every file that init ci may write.
func everyWorkflow(t *testing.T, f func(t *testing.T, forge Forge, target Kind, text string)) {
	t.Helper()
	data := Facts{Version: "v1.2.3", Own: StepsOf(fstest.MapFS{}), Environments: []schedule.EnvironmentBranch{
		{Environment: "dev", Branch: "dev"}, {Environment: "stage", Branch: "release/stage"}, {Environment: "uat", Branch: "release/stage"},
	}}
	for _, forge := range Forges {
		for _, target := range Kinds {
			files, err := forge.Workflows(target, data)
			if err != nil || len(files) == 0 {
				t.Fatalf("%s of %s: %d files, error %v", forge.Name, target, len(files), err)
			}
			for name, text := range files {
				t.Run(forge.Name+"/"+string(target)+"/"+name, func(t *testing.T) { f(t, forge, target, string(text)) })
			}
		}
	}
}

func TestWorkflowsAreYAML(t *testing.T) {
	everyWorkflow(t, func(t *testing.T, _ Forge, _ Kind, text string) {
		var document map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &document); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
		for _, line := range strings.Split(text, "\n") {
			if strings.TrimRight(line, " ") != line || strings.Contains(line, "[[ ") {
				t.Errorf("line %q has spaces at its end, or was not filled in", line)
			}
		}
		if strings.Contains(text, "\n\n\n") || !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n") {
			t.Errorf("empty lines are in the wrong places:\n%s", text)
		}
	})
}

// TestWorkflowsGrantLittle: actions are pinned, no job has rights it does not name, and nothing of strangers runs with secrets.
func TestWorkflowsGrantLittle(t *testing.T) {
	pinned := regexp.MustCompile(`^(?:\./\S+|[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$`)
	uses := regexp.MustCompile(`(?m)^\s*(?:- )?uses: (.*)$`)
	everyWorkflow(t, func(t *testing.T, forge Forge, _ Kind, text string) {
		for _, m := range uses.FindAllStringSubmatch(text, -1) {
			if !pinned.MatchString(m[1]) {
				t.Errorf("uses %s: not pinned to a commit, with its version", m[1])
			}
		}
		if strings.Contains(text, "pull_request_target") || regexp.MustCompile(`curl[^\n]*\|`).MatchString(text) {
			t.Error("runs unreviewed code")
		}
		if forge.Name == "github" && !strings.Contains(text, "\npermissions: {}\n") {
			t.Error("jobs have the permissions of the repository's settings")
		}
		if n := strings.Count(text, "actions/checkout@"); n != strings.Count(text, "persist-credentials: false") {
			t.Error("a checkout leaves its credential behind")
		}
		// What people write into titles and names of branches would run as a script.
		for _, line := range strings.Split(text, "\n") {
			if strings.Contains(line, "${{") && (strings.Contains(line, "kalypso app") || strings.Contains(line, "run:")) {
				t.Errorf("%s: an expression within a script", line)
			}
		}
	})
}

func TestWorkflowsBuildWithTheGoOfTheModule(t *testing.T) {
	text, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.ParseLax("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if mod.Go.Version != goOfCI && !strings.HasPrefix(mod.Go.Version, goOfCI+".") {
		t.Errorf("workflows build with Go %s, and the module wants %s", goOfCI, mod.Go.Version)
	}
}

// TestWorkflowsInstallReleases: a release is downloaded and compared, and only a commit is built.
func TestWorkflowsInstallReleases(t *testing.T) {
	for version, isRelease := range map[string]bool{
		"v1.2.3": true, "v1.2.3-rc.1": true, "v0.0.0-20260102030405-0123456789ab": false, "v1.2.4-0.20260102030405-0123456789ab": false, "0123456789ab": false, "main": false,
	} {
		for _, forge := range Forges {
			files, err := forge.Workflows(Config, Facts{Version: version})
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range files {
				builds, downloads := strings.Contains(string(text), "go install "), strings.Contains(string(text), "releases/download/")
				if installs := builds || downloads; installs && (builds == isRelease || downloads != isRelease) {
					t.Errorf("%s with %s: builds %t, downloads %t", name, version, builds, downloads)
				}
			}
		}
	}
}

func TestWorkflowsRefuseNamesWithShellCharacters(t *testing.T) {
	for _, name := range []string{"${{ secrets.X }}", "a b", "-e", "x)", "a\nb", "`id`", "$(id)", ""} {
		data := Facts{Version: "v1", Environments: []schedule.EnvironmentBranch{{Environment: "dev", Branch: name}}}
		if _, err := Forges[0].Workflows(ControlPlane, data); err == nil {
			t.Errorf("a branch %q is written into a workflow", name)
		}
	}
}
