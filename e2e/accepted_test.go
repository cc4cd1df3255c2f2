package e2e

import (
	"io/fs"
	"path"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// wantAccepted asks an API server about every document on the GitOps branch, with those of cluster types that no cluster here has.
// Fields that do not exist are refused as well, which Flux would not mind.
func (f *fleet) wantAccepted(t *testing.T) {
	t.Helper()
	// This cluster knows the kinds of all reconcilers.
	c := stack.Clusters[large]
	var kinds []string
	for file, objects := range f.rendered(t) {
		for _, o := range objects {
			kinds = append(kinds, o.GetKind())
			if o.GetNamespace() != "" && !isOld(o.GetNamespace()) {
				o.SetNamespace("default") // its own is not on this cluster; what is right there is right here
			}
			if err := c.Check(t.Context(), o); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			o.Object["unknown"] = "field"
			if c.Check(t.Context(), o) == nil {
				t.Errorf("%s: %s with an unknown field is accepted, so that this test could not fail", file, o.GetKind())
			}
		}
	}
	slices.Sort(kinds)
	want := []string{
		"Application", "ConfigMap", "GitRepository", "Kustomization", "LimitRange", "Namespace", "NetworkPolicy",
		"ResourceQuota", "Role", "RoleBinding", "ServiceAccount",
	}
	if diff := cmp.Diff(slices.Compact(kinds), want); diff != "" {
		t.Errorf("kinds that were checked (-), and that the example has (+):\n%s", diff)
	}
}

// rendered are the objects on the GitOps branch, by file.
func (f *fleet) rendered(t *testing.T) map[string][]*unstructured.Unstructured {
	t.Helper()
	files, err := f.gitops.Files(t.Context(), t.TempDir(), dev)
	must(t, err)
	rendered := map[string][]*unstructured.Unstructured{}
	must(t, fs.WalkDir(files, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(file) != ".yaml" {
			return err
		}
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return err
		}
		rendered[file], err = harness.Documents(string(text))
		return err
	}))
	return rendered
}
