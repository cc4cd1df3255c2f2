package serve_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/internal/serve"
)

func TestCheckResourceGraph(t *testing.T) {
	const id, cluster = "33333333-3333-3333-3333-333333333333", "/subscriptions/x/resourceGroups/fleet/providers/Microsoft.Kubernetes/connectedClusters/"
	good := serve.ResourceGraphConfig{Subscriptions: []string{id}, Tenant: id, Client: id, SecretFile: "secret", Clusters: map[string]string{cluster + "a": "one"}}
	if err := serve.CheckResourceGraph([]serve.ResourceGraphConfig{good, {Name: "china", ManagementGroups: []string{"fleet"}, Endpoint: "https://management.chinacloudapi.cn"}}); err != nil {
		t.Error(err)
	}
	for _, test := range []struct {
		want   string
		damage func(c *serve.ResourceGraphConfig)
	}{
		{"want subscriptions or managementGroups", func(c *serve.ResourceGraphConfig) { c.ManagementGroups = []string{"fleet"} }},
		{"want subscriptions or managementGroups", func(c *serve.ResourceGraphConfig) { c.Subscriptions = nil }},
		{"not the ID of a subscription", func(c *serve.ResourceGraphConfig) { c.Subscriptions = []string{"' or 1 == 1"} }},
		{"not the ID of a tenant", func(c *serve.ResourceGraphConfig) { c.Tenant = "../x" }},
		{"not the ID of an application", func(c *serve.ResourceGraphConfig) { c.Client = "x" }},
		{"set one of", func(c *serve.ResourceGraphConfig) { c.FederatedTokenFile = "x" }},
		{"endpoint: want a URL", func(c *serve.ResourceGraphConfig) { c.Endpoint = "http://management.azure.com" }},
		{"login: want a URL", func(c *serve.ResourceGraphConfig) { c.Login = "https://me:secret@login.example.com" }},
		{"5s is less than 15s", func(c *serve.ResourceGraphConfig) { c.Interval = metav1.Duration{Duration: 5 * time.Second} }},
		{"not the resource ID of a cluster", func(c *serve.ResourceGraphConfig) { c.Clusters = map[string]string{"large": "large"} }},
		{"is there twice", func(c *serve.ResourceGraphConfig) {
			c.Clusters = map[string]string{cluster + "a": "one", cluster + "A": "two"}
		}},
		{"two resources stand for", func(c *serve.ResourceGraphConfig) {
			c.Clusters = map[string]string{cluster + "a": "one", cluster + "b": "one"}
		}},
		{"not the name of a cluster", func(c *serve.ResourceGraphConfig) { c.Clusters = map[string]string{cluster + "a": "One"} }},
	} {
		c := good
		test.damage(&c)
		if err := serve.CheckResourceGraph([]serve.ResourceGraphConfig{c}); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret@") {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
	if err := serve.CheckResourceGraph([]serve.ResourceGraphConfig{good, good}); err == nil || !strings.Contains(err.Error(), "another one has the name") {
		t.Errorf("got %v, want that names differ", err)
	}
}
