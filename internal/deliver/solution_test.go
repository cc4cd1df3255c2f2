package deliver_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart/charttest"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/solution"
)

// messages are those of every commit.
type messages []string

var _ deliver.Messages = messages{}

// Messages implements [deliver.Messages].
func (m messages) Messages(context.Context, schedule.Location) ([]string, error) { return m, nil }

func versions(r repos, m ...string) *deliver.Versions {
	return &deliver.Versions{
		Drafter:  deliver.Drafter{Renderer: charttest.InProcess{}, Loader: &deliver.Loader{Repositories: r, Charts: localCharts{}}},
		Messages: messages(m), Renderer: solution.Renderer{Name: "kalypso", Version: "test"},
	}
}

func merged(t *testing.T, r repos) (*solution.Version, error) {
	t.Helper()
	return versions(r).Merged(t.Context(), deliver.VersionRequest{Request: deliver.Request{Source: "https://git.example/shop"}, Environment: "dev"})
}

func TestAVersionHasWhatWasMerged(t *testing.T) {
	r := shop(3, 2)
	r[sourceMain]["schema.json"] = `{"type": "object"}`
	r[sourceMain]["delivery.yaml"] = "apiVersion: app.kalypso.io/v1alpha1\nkind: Delivery\nmetadata: {name: shop}\nspec: {config: {schema: schema.json}, gitops: {path: apps}}\n"
	if _, err := merged(t, r); err == nil || !strings.Contains(err.Error(), "merge a pull request first") {
		t.Errorf("before anything is merged: %v", err)
	}
	r.publish(mustDraft(t, r, func(w *deliver.DraftRequest) { w.Request.Workspace = "kaizen" }))
	v, err := merged(t, r)
	if err != nil {
		t.Fatal(err)
	}
	if v.Application != "shop" || v.Workspace != "kaizen" || v.Release != "1.0.0" || len(v.Targets) != 3 || v.Schema != solution.SchemaFile {
		t.Errorf("got %+v", v.Descriptor)
	}
	for _, f := range v.Files {
		if want, ok := r[gitopsDev]["apps/"+f.Path]; f.Path != solution.SchemaFile && (!ok || want != string(f.Content)) {
			t.Errorf("%s is not what was merged", f.Path)
		}
	}
	if n := len(v.Files); n != 3*4+1 {
		t.Errorf("got %d files, want four of each target and the schema", n)
	}

	// Anyone makes it again from the descriptor, and from nothing else.
	again, err := versions(r).Rebuild(t.Context(), deliver.Request{}, v.Descriptor)
	if err != nil {
		t.Fatal(err)
	}
	if again.Digest() != v.Digest() {
		t.Errorf("it is another version: %v", solution.Compare(v, again))
	}
	files, err := versions(r).Published(t.Context(), v.Descriptor)
	if err != nil || len(solution.CompareMerged(v, files)) > 0 {
		t.Errorf("it has other files than the merged commit: %v, %v", solution.CompareMerged(v, files), err)
	}

	// Another chart renders something else, and that is said with its file.
	r[sourceMain]["helm/templates/m00.yaml"] += "# changed\n"
	again, err = versions(r).Rebuild(t.Context(), deliver.Request{}, v.Descriptor)
	if err != nil {
		t.Fatal(err)
	}
	if differences := solution.CompareFiles(v, again.Files); len(differences) != 6 || differences[3].File != "t000/manifests.yaml" || differences[3].Wants != "# changed" {
		t.Errorf("got %v", differences)
	}
}

func TestACommitThatIsNotWhatItsInputsRenderIsNoVersion(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(r repos)
		want   string
	}{
		"a file was edited by hand":     {func(r repos) { r[gitopsDev]["t001/manifests.yaml"] += "---\n" }, "t001/manifests.yaml"},
		"a file was removed by hand":    {func(r repos) { delete(r[gitopsDev], "t001/kustomization.yaml") }, "t001/kustomization.yaml"},
		"the configuration has changed": {func(r repos) { r[configDev]["region/t002/values.yaml"] = "replicas: 9\n" }, ".kalypso/t002/values.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			r := shop(3)
			r.publish(mustDraft(t, r))
			tc.change(r)
			_, err := merged(t, r)
			var not *solution.NotRebuiltError
			if !errors.As(err, &not) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
	t.Run("a target is held", func(t *testing.T) {
		r := shop(3)
		r.publish(mustDraft(t, r))
		delete(r[configDev], "region/t001/values.yaml")
		if _, err := merged(t, r); err == nil || !strings.Contains(err.Error(), `target "t001" does not render`) {
			t.Errorf("got %v", err)
		}
	})
}

func TestARebuiltCommitHasToBeOnItsBranch(t *testing.T) {
	r := shop(1)
	r.publish(mustDraft(t, r))
	v, err := merged(t, r)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(d *solution.Descriptor) *string{
		"source": func(d *solution.Descriptor) *string { return &d.Inputs.Source.Commit },
		"config": func(d *solution.Descriptor) *string {
			config := *d.Inputs.Config
			d.Inputs.Config = &config
			return &config.Commit
		},
	} {
		d := v.Descriptor
		*change(&d) = strings.Repeat("f", 40) // a commit of no branch
		if _, err := versions(r).Rebuild(t.Context(), deliver.Request{}, d); err == nil || !strings.Contains(err.Error(), "not on") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	d := v.Descriptor
	d.Inputs.GitOps.Commit = strings.Repeat("f", 40)
	if _, err := versions(r).Published(t.Context(), d); err == nil || !strings.Contains(err.Error(), "it was not merged") {
		t.Errorf("gitops: got %v", err)
	}
}

func TestAServerRebuildsWithinItsBounds(t *testing.T) {
	r := shop(1)
	r.publish(mustDraft(t, r))
	v := versions(r)
	refused := errors.New("refused")
	v.Loader.Allow = func(of deliver.Request, repository string) error {
		if strings.Contains(repository, "configs") && len(of.Repositories) == 0 {
			return refused
		}
		return nil
	}
	request := deliver.VersionRequest{Request: deliver.Request{Source: "https://git.example/shop", Repositories: []string{"https://git.example/shop-configs"}}, Environment: "dev"}
	if _, err := v.Merged(t.Context(), request); err != nil {
		t.Error(err)
	}
	request.Request.Repositories = nil
	if _, err := v.Merged(t.Context(), request); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}
