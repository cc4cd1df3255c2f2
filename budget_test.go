package kalypso

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// heavy are the libraries that render charts and kustomizations. A binary with them takes seconds to link.
var heavy = []string{"helm.sh/helm/", "sigs.k8s.io/kustomize/"}

// linksHeavy are the packages that link them, or whose tests do, with the reason. All others build without.
var linksHeavy = map[string]string{
	"cmd/kalypso":              "renders charts in processes of its own",
	"cmd/kalypso-operator":     "renders charts in processes of its own",
	"internal/chart/engine":    "renders",
	"internal/chart/sandbox":   "starts the engine",
	"internal/chart/charttest": "the engine for tests, without a process",
	"internal/serve/wiring":    "connects the sandbox to flows",
	"internal/operator/tenant": "connects the sandbox to flows",
	"internal/deliver":         "its tests deliver real charts",
	"internal/schedule/carry":  "its tests render charts",
}

// TestOnlyFewPackagesLinkHelm: what a package and its tests link decides how long they take to build.
func TestOnlyFewPackagesLinkHelm(t *testing.T) {
	list := exec.Command("go", "list", "-test", "-f", "{{.ImportPath}}\t{{join .Deps \" \"}}", "./...")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	linking := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		path, deps, _ := strings.Cut(line, "\t")
		if strings.Contains(path, " [") {
			continue // a package as its tests see it; the binary of the tests is in the list as well
		}
		folder := strings.TrimSuffix(strings.TrimPrefix(path, module+"/"), ".test")
		for dep := range strings.FieldsSeq(deps) {
			isHeavy := func(prefix string) bool { return strings.HasPrefix(dep, prefix) }
			if !slices.ContainsFunc(heavy, isHeavy) {
				continue
			}
			if linksHeavy[folder] == "" && !linking[folder] {
				t.Errorf("%s depends on %s: use the values of internal/chart, or declare an interface for what renders", strings.TrimPrefix(path, module+"/"), dep)
			}
			linking[folder] = true
			break
		}
	}
	for folder := range linksHeavy {
		if !linking[folder] {
			t.Errorf("%s no longer links Helm: remove it from the list", folder)
		}
	}
}
