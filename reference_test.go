package kalypso

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// documented says which names of the code a page of the reference has to explain.
var documented = []struct {
	page, source string
	// within matches the part of the source that has the names; empty means all of it.
	within string
	// name matches a name as its first group.
	name string
}{
	{"templates.md", "internal/schedule/render/functions.go", `(?s)\nvar leftOut = .*?\n}`, `"(\w+)":`},
	{"templates.md", "internal/schedule/render/data.go", `(?s)\ntype Data struct.*?\n}`, `(?:^\t|, )([A-Z]\w+)`},
	{"templates.md", "internal/schedule/render/builtin.go", `\nvar aliases = .*`, `"([\w-]+)":`},
	{"templates.md", "api/scheduler/v1alpha1/template.go", "", `TemplateType = "(.+)"`},
	{"configuration.md", "internal/schedule/config/match.go", "", `label\w+ += "(.+)"`},
	{"files.md", "internal/schedule/plan/budget.go", "", `RefusalReason = "(.+)"`},
	{"files.md", "internal/schedule/bundle/inventory.go", `(?s)\ntype inventory struct.*?\n}`, `json:"(\w+)"`},
	{"files.md", "internal/schedule/bundle/inventory.go", `(?s)\ntype encodedAssignment struct.*?\n}`, `json:"(\w+)"`},
	{"files.md", "internal/schedule/bundle/file.go", "", `(?:Name|YAML|Sh) += "(.+)"`},
	{"repositories.md", "internal/git/doc.go", "", `\b((?:KALYPSO_GIT|GITHUB|GH|GITLAB|CI)_[A-Z_]+|NETRC)\b`},
	{"repositories.md", "internal/fleet/kinds.go", "", `kind[A-Z]\w+ += "(\w+)"`},
	{"serve.md", "internal/serve/metrics.go", "", `"(kalypso_\w+)"`},
	{"serve.md", "internal/serve/metrics_clusters.go", "", `"(kalypso_\w+)"`},
	{"serve.md", "internal/serve/server.go", "", `"(?:GET|POST) (/\w+)`},
}

// TestReferenceIsComplete: what the code has, the reference explains.
func TestReferenceIsComplete(t *testing.T) {
	for _, d := range documented {
		page := readText(t, path.Join("docs/reference", d.page))
		source := readText(t, d.source)
		if d.within != "" {
			source = regexp.MustCompile(d.within).FindString(source)
		}
		names := regexp.MustCompile(`(?m)`+d.name).FindAllStringSubmatch(source, -1)
		if len(names) == 0 {
			t.Errorf("%s: nothing matches %s any more", d.source, d.name)
		}
		for _, name := range names {
			if !regexp.MustCompile(`(?:^|[^\w-])` + regexp.QuoteMeta(name[1]) + `(?:$|[^\w-])`).MatchString(page) {
				t.Errorf("docs/reference/%s does not explain %s of %s", d.page, name[1], d.source)
			}
		}
	}
}

// TestProblemsAreReal: each section on a problem is on one that there is, and each problem has a section.
func TestProblemsAreReal(t *testing.T) {
	kinds := map[string]bool{}
	for _, match := range regexp.MustCompile(`ProblemKind = "(.+)"`).FindAllStringSubmatch(readText(t, "internal/fleet/problem.go"), -1) {
		kinds[match[1]] = true
	}
	for _, heading := range regexp.MustCompile(`(?m)^### (\S+)$`).FindAllStringSubmatch(readText(t, "docs/reference/problems.md"), -1) {
		if !kinds[heading[1]] {
			t.Errorf("docs/reference/problems.md explains %s, and no problem is of that kind", heading[1])
		}
		delete(kinds, heading[1])
	}
	for kind := range kinds {
		t.Errorf("docs/reference/problems.md has no section on %s", kind)
	}
}

// TestAlertsAreOnMetricsThatThereAre: a rule on a metric that does not exist never fires.
func TestAlertsAreOnMetricsThatThereAre(t *testing.T) {
	source := readText(t, "internal/serve/metrics.go") + readText(t, "internal/serve/metrics_messages.go") + readText(t, "internal/serve/wiring/sources.go") + readText(t, "internal/serve/wiring/disk.go")
	rules := readText(t, "deploy/grafana/alerts.yaml")
	metrics := regexp.MustCompile(`kalypso_\w+`).FindAllString(rules, -1)
	if len(metrics) == 0 {
		t.Fatal("there are no alert rules")
	}
	for _, name := range metrics {
		for _, suffix := range []string{"_count", "_sum", "_bucket"} { // of histograms
			name = strings.TrimSuffix(name, suffix)
		}
		if !strings.Contains(source, `"`+name+`"`) {
			t.Errorf("deploy/grafana/alerts.yaml: there is no metric %s", name)
		}
	}
}
