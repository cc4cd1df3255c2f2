package fleet_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

func TestImportClusters(t *testing.T) {
	for _, test := range []struct {
		name, text string
		options    fleet.ImportOptions
		want       string
	}{
		{
			"cluster profiles", `
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ClusterProfileList
items:
- apiVersion: multicluster.x-k8s.io/v1alpha1
  kind: ClusterProfile
  metadata: {name: west-002, labels: {region: west, tier: edge, cluster: mine}}
- {apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ClusterProfile, metadata: {name: west-001, labels: {tier: core}}}
`,
			fleet.ImportOptions{TypeLabel: "tier"},
			`west-001 core map[]; west-002 edge map[region:west]; label "cluster" of 1 clusters is left out: it is not valid, or matches names`,
		},
		{
			"cluster api", "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: a, labels: {x: y, z: w}}\n---\nkind: Other\napiVersion: v1\n",
			fleet.ImportOptions{Type: "edge", Labels: []string{"x"}},
			`a edge map[x:y]`,
		},
		{
			"csv", "name,clusterType,ring,region,store\nb,,canary,west,\na,core,,east,117\n",
			fleet.ImportOptions{Type: "edge"},
			`a core map[region:east store:117]; b edge ring canary map[region:west]`,
		},
		{
			"aks", `[{"name": "a", "location": "westeurope", "tags": {"owner": "Store team", "store": "7"}}]`,
			fleet.ImportOptions{Type: "edge"},
			`a edge map[region:westeurope store:7]; label "owner" of 1 clusters is left out: it is not valid, or matches names`,
		},
		{"gke", `[{"name": "a", "location": "us-west1", "resourceLabels": {"store": "7"}}]`, fleet.ImportOptions{Type: "edge"}, `a edge map[region:us-west1 store:7]`},
		{"eks names", `{"clusters": ["b", "a"]}`, fleet.ImportOptions{Type: "edge"}, `a edge map[]; b edge map[]`},
		{"eks", `{"cluster": {"name": "a", "arn": "arn:aws:eks", "tags": {"store": "7"}}}`, fleet.ImportOptions{Type: "edge"}, `a edge map[store:7]`},
		{"nothing", `{"a": 1}`, fleet.ImportOptions{Type: "edge"}, `error: it has no clusters of a known form; a CSV file needs a header with the column name`},
		{"no type", `{"clusters": ["a"]}`, fleet.ImportOptions{}, `error: cluster "a" has no usable cluster type (""): give one for all, or the label that has it`},
		{"twice", `{"clusters": ["a", "a"]}`, fleet.ImportOptions{Type: "edge"}, `error: cluster "a" is there twice`},
		{
			"names of aks", `[{"name": "AKS_West"}, {"name": "b"}]`,
			fleet.ImportOptions{Type: "edge"},
			`aks-west edge map[]; b edge map[]; cluster "AKS_West" is called aks-west: register it by that name`,
		},
		{
			"a name that cannot be used", `{"clusters": ["a b", "c"]}`,
			fleet.ImportOptions{Type: "edge"},
			`c edge map[]; a cluster is left out: "a b" cannot be the name of a cluster: use up to 63 lower-case letters, digits and dashes, a letter or digit first and last`,
		},
		{"names that become equal", `{"clusters": ["A_b", "a-b"]}`, fleet.ImportOptions{Type: "edge"}, `error: cluster "a-b" is there twice`},
		{"csv of excel", "\ufeffName;ClusterType;region\r\na;core;west\r\n;;\r\n", fleet.ImportOptions{}, `a core map[region:west]`},
		{"quoted csv", "\"name\",\"region\"\n\"a\",\"west\"\n,\n\n", fleet.ImportOptions{Type: "edge"}, `a edge map[region:west]`},
		{"csv with tabs", "name\tstore\na\t7\n", fleet.ImportOptions{Type: "edge"}, `a edge map[store:7]`},
		{"csv without a column", "name,region\na\n", fleet.ImportOptions{Type: "edge"}, `error: record on line 2: wrong number of fields`},
	} {
		t.Run(test.name, func(t *testing.T) {
			clusters, notes, err := fleet.ImportClusters([]byte(test.text), test.options)
			var parts []string
			for _, c := range clusters {
				text := c.Name + " " + c.Spec.ClusterType
				if c.Spec.Ring != "" {
					text += " ring " + c.Spec.Ring
				}
				parts = append(parts, fmt.Sprint(text, " ", c.Spec.Labels))
			}
			if err != nil {
				parts = append(parts, "error: "+err.Error())
			}
			if got := strings.Join(append(parts, notes...), "; "); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
