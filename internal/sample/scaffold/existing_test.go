package scaffold

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const pod = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - image: h:5000/acme/backend:1@sha256:00\n"

func TestFindDeliverables(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"a chart and its subcharts": {
			files: map[string]string{"helm/Chart.yaml": "", "helm/charts/db/Chart.yaml": "", "helm/templates/pod.yaml": pod},
			want:  []string{"chart helm"},
		},
		"overlays and their base": {
			files: map[string]string{
				"k8s/base/kustomization.yaml": "", "k8s/base/pod.yaml": pod, "k8s/components/x/kustomization.yml": "",
				"k8s/overlays/prod/Kustomization": "", "k8s/overlays/eu/kustomization.yaml": "", "k8s/overlays/dev/kustomization.yaml": "",
			},
			want: []string{"kustomization k8s/overlays/{environment}: dev prod eu"},
		},
		"environments next to the base": {
			files: map[string]string{"k8s/base/kustomization.yaml": "", "k8s/qa/kustomization.yaml": "", "k8s/live/kustomization.yaml": ""},
			want:  []string{"kustomization k8s/{environment}: qa live"},
		},
		"folders that are not environments": {
			files: map[string]string{"a/kustomization.yaml": "", "b/kustomization.yaml": ""},
			want:  []string{"kustomization a", "kustomization b"},
		},
		"manifests for each environment": {
			files: map[string]string{"deploy/stage/pod.yaml": pod, "deploy/dev/pod.yml": pod, "deploy/README.yaml": "kind: Notes"},
			want:  []string{"manifests deploy/{environment}: dev stage"},
		},
		"the outermost first": {
			files: map[string]string{"a/b/helm/Chart.yaml": "", "a/manifests/pod.yaml": pod, "z/pod.yaml": pod},
			want:  []string{"manifests z", "manifests a/manifests", "chart a/b/helm"},
		},
		"what is not part of the application": {
			files: map[string]string{
				".github/pod.yaml": pod, "node_modules/x/Chart.yaml": "", "vendor/y/Chart.yaml": "", "testdata/Chart.yaml": "",
				"lib/Chart.yaml": "type: library", "ci/task.yaml": "kind: Task", "big/pod.yaml": pod + strings.Repeat("#", maxFileSize), "a\nb/pod.yaml": pod,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree := fstest.MapFS{}
			for name, content := range test.files {
				tree[name] = &fstest.MapFile{Data: []byte(content + "\n")}
			}
			s, err := FindDeliverables(tree)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range s.Found {
				text := string(d.Form) + " " + d.Folder
				if len(d.Environments) > 0 {
					text += ": " + strings.Join(d.Environments, " ")
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestASearchIsBounded: it says that it ended early.
func TestASearchIsBounded(t *testing.T) {
	tree := fstest.MapFS{}
	for i := range maxFiles + 1 {
		tree["data/"+strings.Repeat("x", i%7)+string(rune('a'+i%26))+"/"+strings.Repeat("y", i/26)+".yaml"] = &fstest.MapFile{Data: []byte("a: 1\n")}
	}
	s, err := FindDeliverables(tree)
	if err != nil || !s.Cut {
		t.Errorf("cut %t, error %v; want a search that was cut", s.Cut, err)
	}
}

func TestImagesOfADeliverable(t *testing.T) {
	d, err := InspectDeliverable(fstest.MapFS{"k8s/pod.yaml": {Data: []byte(pod)}}, Manifests, "./k8s/")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"h:5000/acme/backend"}, d.Images); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := NewOnboarding(d, "shop", "main", "").Image(); got != "backend" {
		t.Errorf("the Delivery names the image %q, want backend", got)
	}
	if got := NewOnboarding(d, "backend-src", "main", "").Image(); got != "" {
		t.Errorf("the Delivery names the image %q, and the workload is called the same", got)
	}
}

func TestNameOf(t *testing.T) {
	for name, want := range map[string]string{
		"shop": "shop", "Shop_API": "shop-api", "-x-": "x", "%%": "app", "a\nb": "a-b", strings.Repeat("a", 52) + "-b": strings.Repeat("a", 52),
	} {
		if got := NameOf(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
