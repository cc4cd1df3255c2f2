package manifests

import (
	"net/url"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kalypso-io/kalypso/internal/fleet/casetest"
	"github.com/kalypso-io/kalypso/internal/schedule/pull"
)

var server = &url.URL{Scheme: "https", Host: "kalypso.example.com"}

func TestWrite(t *testing.T) {
	t.Parallel()
	flux := []schema.GroupResource{
		{Group: "kustomize.toolkit.fluxcd.io", Resource: "kustomizations"},
		{Group: "source.toolkit.fluxcd.io", Resource: "ocirepositories"},
		{Group: "source.toolkit.fluxcd.io", Resource: "gitrepositories"},
	}
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	installs := map[string]Config{
		"default": {Server: server, Cluster: "large-07", Image: "registry.example.com/kalypso:v1", Kinds: flux, Explained: []schema.GroupResource{{Resource: "pods"}, {Group: "apps", Resource: "deployments"}}},
		"more_kinds": {
			Server: server, Cluster: "large-07", Image: "registry.example.com/kalypso:v1",
			Kinds: append([]schema.GroupResource{deployments}, flux...), More: []schema.GroupResource{deployments},
			Namespace: "observe", Secret: "hub", Destinations: []string{"store=store-01"},
		},
		"jobs":   {Server: server, Cluster: "large-07", Image: "registry.example.com/kalypso:v1", Kinds: flux, RunJobs: true},
		"direct": {Server: server, Cluster: "large-07", Image: "registry.example.com/kalypso:v1", Kinds: flux, Reconciler: pull.Direct, ServerKey: "-----BEGIN PUBLIC KEY-----\n"},
		"flux_pulls": {
			Server: server, Cluster: "large-07", Image: "registry.example.com/kalypso:v1", Kinds: flux, Reconciler: pull.Flux, GitSecret: "git",
			Pulls: []Pull{
				{Source: pull.Source{Environment: "dev", ClusterType: "large", URL: "https://git.example.com/acme/gitops", Branch: "dev"}},
				{Source: pull.Source{Environment: "prod", ClusterType: "large-gpu", URL: "https://git.example.com/acme/gitops", Branch: "prod", Path: "west/fleet"}},
				{Source: pull.Source{Environment: "edge", ClusterType: "store", URL: "https://git.example.com/acme/gitops", Branch: "edge"}, Rings: true},
			},
		},
		"argocd_pulls": {
			Server: server, Cluster: "large-07", Image: "registry.example.com/kalypso:v1", Kinds: flux, Reconciler: pull.ArgoCD,
			Pulls: []Pull{{Source: pull.Source{Environment: "dev", ClusterType: "large", URL: "https://git.example.com/acme/gitops", Branch: "dev"}}},
		},
		"fleet_pulls": {
			Server: server, Cluster: "large-07", Image: "registry.example.com/kalypso:v1", Kinds: flux, Reconciler: pull.Fleet, GitSecret: "git",
			Pulls: []Pull{{Source: pull.Source{Environment: "dev", ClusterType: "large", URL: "https://git.example.com/acme/gitops", Branch: "dev"}}},
		},
	}
	casetest.Run(t, "testdata/*.txtar", func(t *testing.T, c casetest.Case) {
		got, err := Write(installs[c.Name])
		if err != nil {
			t.Fatal(err)
		}
		c.Golden(t, "manifests.yaml", string(got))
	})
}

func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	good := Config{Server: server, Cluster: "large-07", Image: "kalypso:v1"}
	for name, damage := range map[string]func(*Config){
		"cluster":   func(i *Config) { i.Cluster = "a b" },
		"no name":   func(i *Config) { i.Cluster = "" },
		"namespace": func(i *Config) { i.Namespace = "x\n---\nkind: ClusterRoleBinding" },
		"secret":    func(i *Config) { i.Secret = "../x" },
		"image":     func(i *Config) { i.Image = "" },

		"an unknown reconciler":         func(i *Config) { i.Reconciler = "jenkins" },
		"a secret without a reconciler": func(i *Config) { i.GitSecret = "git" },
		"no key of the server":          func(i *Config) { i.Reconciler = pull.Direct },
		"a secret without a repository": func(i *Config) { i.Reconciler, i.ServerKey, i.GitSecret = pull.Direct, "-", "git" },
		"a secret of Argo CD":           func(i *Config) { i.Reconciler, i.GitSecret = pull.ArgoCD, "git" },
		"the name of a git secret":      func(i *Config) { i.Reconciler, i.GitSecret = pull.Flux, "a b" },
		"an unknown repository": func(i *Config) {
			i.Reconciler, i.Pulls = pull.Flux, []Pull{{Source: pull.Source{Environment: "dev", ClusterType: "large"}}}
		},
		"two cluster types": func(i *Config) {
			p := Pull{Source: pull.Source{Environment: "dev", ClusterType: "large", URL: "https://git.example.com/gitops", Branch: "dev"}}
			i.Reconciler, i.Pulls = pull.Flux, []Pull{p, p}
		},
	} {
		i := good
		damage(&i)
		if text, err := Write(i); err == nil {
			t.Errorf("%s: got\n%s", name, text)
		}
	}
}
