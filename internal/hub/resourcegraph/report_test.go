package resourcegraph_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/resourcegraph"
	"github.com/kalypso-io/kalypso/internal/hub/resourcegraph/resourcegraphtest"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

var update = flag.Bool("update", false, "rewrite the expected results of the cases")

// TestReports: a file for each rule, with the properties of a configuration "platform", and what they report.
func TestReports(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d cases, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil || len(archive.Files) != 2 {
				t.Fatalf("got %d files, %v, want properties and want", len(archive.Files), err)
			}
			got := described(row("large-07", string(archive.Files[0].Data)))
			if *update {
				archive.Files[1].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(archive.Files[1].Data), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func row(cluster, properties string) string {
	return fmt.Sprintf(`{"id":"%s/providers/Microsoft.KubernetesConfiguration/fluxConfigurations/platform","properties":%s}`, resourcegraphtest.ClusterID(cluster), properties)
}

// described is what a row reports, one line each.
func described(row string) string {
	c, err := resourcegraph.ParseConfiguration([]byte(row))
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	reports, problems := c.Reports()
	out := ""
	for _, r := range reports {
		at := r.Observed.Format("15:04:05.999999")
		name := fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name)
		r.Kind, r.Namespace, r.Name, r.Observed = "", "", "", time.Time{}
		var set map[string]any
		text, _ := json.Marshal(r)
		_ = json.Unmarshal(text, &set)
		for key, value := range set {
			if value == "" || key == "observed" {
				delete(set, key)
			}
		}
		text, _ = json.Marshal(set)
		out += fmt.Sprintf("%s at %s\n    %s\n", name, at, text)
	}
	for _, p := range problems {
		out += "problem: " + p.Text + "\n"
	}
	return out
}

func TestAssign(t *testing.T) {
	clusters := []ledger.Cluster{
		{Name: "a", Registered: true},
		{Name: "b", Registered: true},
		{Name: "c", Registered: true},
		{Name: "gone"},
		{Name: "served", Registered: true, Registration: ledger.Registration{ReportedBy: "a"}},
	}
	elsewhere := func(name string) string {
		return strings.Replace(platform(name), "/resourceGroups/Fleet/", "/resourceGroups/Other/", 1)
	}
	for _, test := range []struct {
		name  string
		rows  []string
		named map[string]string
		want  string
	}{
		{"by the name of the resource", []string{platform("A"), platform("b")}, nil, "a 1\nb 1\n"},
		{"by the configuration", []string{platform("aks-eastus-1")}, map[string]string{resourcegraphtest.ClusterID("AKS-eastus-1"): "c"}, "c 1\n"},
		{"two resources of one name are none", []string{platform("a"), elsewhere("a")}, nil, "other/a: 2 resources have the name\nfleet/a: 2 resources have the name\n"},
		{
			"the configuration decides between them",
			[]string{platform("a"), elsewhere("a")},
			map[string]string{resourcegraphtest.ClusterID("a"): "a"},
			"a 1\nother/a: the configuration names another resource\n",
		},
		{"a resource cannot take the name of another one's cluster", []string{platform("a")}, map[string]string{resourcegraphtest.ClusterID("x"): "a"}, "fleet/a: the configuration names another resource\n"},
		{
			"unknown, revoked and reported by another one",
			[]string{platform("gone"), platform("served"), platform("unknown")},
			nil,
			"fleet/gone: no registered cluster\nfleet/served: cluster \"served\" is registered as reported by\nfleet/unknown: no registered cluster\n",
		},
		{"a name that is not registered", []string{platform("a")}, map[string]string{resourcegraphtest.ClusterID("a"): "z"}, "fleet/a: cluster \"z\", which the configuration names, is not registered\n"},
		{
			"one object in two configurations",
			[]string{platform("a"), strings.Replace(platform("a"), "fluxConfigurations/platform", "fluxConfigurations/other", 1)},
			nil,
			"a 1\nfluxconfigurations/other: Kustomization flux-system/platform-fleet is in another configuration\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var all []resourcegraph.Configuration
			for _, row := range test.rows {
				c, err := resourcegraph.ParseConfiguration([]byte(row))
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, c)
			}
			named := map[string]string{}
			for id, name := range test.named {
				named[strings.ToLower(id)] = name
			}
			assigned, problems := resourcegraph.Assign(all, clusters, named)
			var got []string
			for _, a := range assigned {
				got = append(got, fmt.Sprintf("%s %d", a.Cluster, len(a.Reports)))
			}
			for _, p := range problems {
				got = append(got, p.String())
			}
			want := strings.Split(strings.TrimSpace(test.want), "\n")
			for _, line := range want {
				found := false
				for _, g := range got {
					found = found || g == line || strings.Contains(g, line) || strings.Contains(strings.ReplaceAll(g, "/providers/microsoft.kubernetes/connectedclusters", ""), line)
				}
				if !found {
					t.Errorf("want %q in\n%s", line, strings.Join(got, "\n"))
				}
			}
			if len(got) != len(want) {
				t.Errorf("got %d lines, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
			}
		})
	}
}

// Whatever Azure answers, what is reported is valid, and nothing has reached a commit that the answer does not name.
func FuzzReports(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(row("large-07", string(archive.Files[0].Data))))
	}
	f.Add([]byte(platform("a")))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := resourcegraph.ParseConfiguration(text)
		if err != nil {
			if len(err.Error()) > 200 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			return
		}
		if !resourcegraph.ClusterID(c.Cluster) {
			t.Errorf("got cluster %q", c.Cluster)
		}
		reports, _ := c.Reports()
		if len(reports) > hub.MaxReports {
			t.Errorf("got %d reports", len(reports))
		}
		for i := range reports {
			r := reports[i]
			if r.Revision != "" && !strings.Contains(strings.ToLower(string(text)), r.Revision) {
				t.Errorf("the revision %q is not in the answer", r.Revision)
			}
			if r.Observed.IsZero() || r.Applied != "" {
				t.Errorf("got %+v", r)
			}
			r.Repository, r.Ref, r.Path, r.Message = "", "", "", "" // the intake makes lines of them
			if err := r.Check(); err != nil {
				t.Error(err)
			}
		}
	})
}
