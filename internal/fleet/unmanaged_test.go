package fleet

import "testing"

// TestUnmanaged checks that paths of others permit what they name, and never all of a folder.
func TestUnmanaged(t *testing.T) {
	u := Unmanaged{"*/flux-system/", "drone/kustomization.yaml", "clusters/*/flux-system/", "clusters/west/"}
	for _, c := range []struct {
		folder, file string
		want         bool
	}{
		{"drone", "drone/flux-system/gotk-sync.yaml", true},
		{"drone", "drone/flux-system/a/b.yaml", true},
		{"drone", "drone/kustomization.yaml", true},
		{"drone", "drone/more.yaml", false},
		{"drone", "drone/kustomization.yaml/x.yaml", false},
		{"drone", "drone/flux-systems/x.yaml", false},
		{"drone", "drone/a/flux-system/x.yaml", false},
		{"drone", "drone/flux-system", false},
		{"large", "large/kustomization.yaml", false},
		{"clusters/west", "clusters/west/flux-system/x.yaml", true},
		{"clusters/west", "clusters/west/more.yaml", false},
		{"clusters/west", "clusters/west/more/more.yaml", false},
		{"clusters/flux-system", "clusters/flux-system/x.yaml", false},
	} {
		if got := u.Has(c.folder, c.file); got != c.want {
			t.Errorf("%s in %s: %v", c.file, c.folder, got)
		}
	}
}
