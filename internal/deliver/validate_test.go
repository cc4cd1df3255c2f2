package deliver_test

import (
	"strings"
	"testing"
)

// A Delivery is a file in Git, so no API server has validated it.
func TestDeliveryThatCannotBeUsed(t *testing.T) {
	for spec, want := range map[string][]string{
		"{chart: {path: a}, kustomization: b}":                                 {"sets several of chart, kustomization"},
		"{chart: {path: a, version: '1'}}":                                     {"spec.chart has a path, and a repository"},
		"{chart: {repository: 'https://x'}}":                                   {"spec.chart has neither a path"},
		"{chart: {repository: 'https://x', version: '1'}}":                     {"spec.chart has no name"},
		"{services: [{name: ../x, chart: {path: /y}}]}":                        {"the name of a service", "relative to the root"},
		"{services: [{chart: {path: y}}]}":                                     {"a service has no name"},
		"{chart: {path: a, namespace: A_B, namespaces: [{environment: dev}]}}": {`spec.chart: namespace is "A_B"`, "an entry of namespaces has no namespace"},
		"{release: A_B}": {`spec.release is "A_B"`},
		"{gitops: {path: ../x}, config: {path: .git, schema: a/b}}": {"spec.gitops.path", "spec.config.path"},
		"{config: {targets: [{name: a, folder: ../b}]}}":            {"the folder of target a"},
		"{secrets: [{from: Existing, secret: a}, {from: CertManager, value: a}]}": {
			"spec.secrets[0]: Existing needs a value", "spec.secrets[1]: value and secret are for Existing",
		},
		"{secrets: [{from: certManager}, {name: a}]}": {"did you mean CertManager?", `spec.secrets[1] has from: ""; write one of Existing, ExternalSecrets, CertManager, Job`},
		"{secrets: [{from: Job}, {from: Job, image: a, rotation: -1}, {from: Job, image: b}, {from: Job, image: c}, {from: CertManager, image: b}]}": {
			"spec.secrets[0]: Job needs an image", "spec.secrets[1] has rotation: -1", "spec.secrets[3]: one Job makes all Secrets; write the image \"b\"", "spec.secrets[4]: image and rotation are for Job",
		},
		`{environments: [{name: ../stage}, {name: "dev\nx"}]}`: {`the name of an environment is "../stage"`, `"dev\nx"`},
	} {
		r := shop(1)
		r[sourceMain]["delivery.yaml"] = "apiVersion: app.kalypso.io/v1alpha1\nkind: Delivery\nmetadata: {name: shop}\nspec: " + spec + "\n"
		_, err := draft(t, r)
		if err == nil {
			t.Errorf("%s is taken", spec)
			continue
		}
		for _, text := range append(want, "delivery.yaml:1: ") {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: got %q, want %q", spec, err, text)
			}
		}
	}
}

func TestDeliveryOfAChartOfOthersIsTaken(t *testing.T) {
	r := shop(1)
	r[sourceMain]["delivery.yaml"] = "apiVersion: app.kalypso.io/v1alpha1\nkind: Delivery\nmetadata: {name: shop}\n" +
		"spec: {chart: {repository: 'oci://registry.example/shop', version: ^1}, release: shop, environments: [{name: dev}]}\n"
	mustDraft(t, r)
}
