package api_test

import (
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// catalogEntity is an entity of Backstage's catalog.
type catalogEntity struct {
	APIVersion, Kind string
	Metadata         struct {
		Name  string
		Links []struct{ URL, Title string }
	}
	Spec struct {
		Type, Lifecycle, Owner     string
		ProvidesAPIs, ConsumesAPIs []string
		Definition                 map[string]string
	}
}

// catalogName is what Backstage accepts as the name of an entity.
var catalogName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)

// catalogOfGuide reads the entities in the examples of the guide.
func catalogOfGuide(t *testing.T) []catalogEntity {
	t.Helper()
	text, err := os.ReadFile("../../../docs/how-to/backstage.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []catalogEntity
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for document := range strings.SplitSeq(block[1], "\n---\n") {
			var e catalogEntity
			if err := yaml.Unmarshal([]byte(document), &e); err != nil {
				t.Fatalf("%v\n%s", err, document)
			}
			if e.APIVersion != "" {
				all = append(all, e)
			}
		}
	}
	return all
}

// TestCatalogOfBackstage: the entities of the guide have what Backstage requires, refer to each other, link pages that exist, and the
// definition of the API is the OpenAPI document that a server gives to clients without a token.
func TestCatalogOfBackstage(t *testing.T) {
	pages, err := os.ReadFile("../../../docs/reference/web.md")
	if err != nil {
		t.Fatal(err)
	}
	apis, kinds := map[string]string{}, map[string]int{}
	entities := catalogOfGuide(t)
	for _, e := range entities {
		kinds[e.Kind]++
		if e.APIVersion != "backstage.io/v1alpha1" || !catalogName.MatchString(e.Metadata.Name) || e.Spec.Type == "" || e.Spec.Lifecycle == "" || e.Spec.Owner == "" {
			t.Errorf("Backstage refuses %+v", e)
		}
		if e.Kind == "API" {
			apis[e.Metadata.Name] = e.Spec.Definition["$text"]
		}
		for _, l := range e.Metadata.Links {
			u, err := url.Parse(l.URL)
			if err != nil || l.Title == "" {
				t.Errorf("link %+v: %v", l, err)
				continue
			}
			page, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
			if !strings.Contains(string(pages), "`/"+page) {
				t.Errorf("%s links %s, which is not a page", e.Metadata.Name, l.URL)
			}
		}
	}
	if want := map[string]int{"Component": 2, "API": 1}; !cmp.Equal(kinds, want) {
		t.Errorf("the guide has %v, want %v", kinds, want)
	}
	for _, e := range entities {
		for _, name := range append(e.Spec.ProvidesAPIs, e.Spec.ConsumesAPIs...) {
			if apis[name] == "" {
				t.Errorf("%s refers to the API %q, which the guide does not define", e.Metadata.Name, name)
			}
		}
	}
	definition, err := url.Parse(apis["kalypso"])
	if err != nil {
		t.Fatal(err)
	}
	answer := newWorld(t).call(http.MethodGet, definition.Path, "", nil)
	if answer.status != http.StatusOK {
		t.Fatalf("%s answers %d", definition.Path, answer.status)
	}
	var given spec
	if err := yaml.Unmarshal(answer.body, &given); err != nil {
		t.Fatal(err)
	}
	published, _ := readSpec(t)
	if !strings.HasPrefix(given.OpenAPI, "3.1.") || !cmp.Equal(given.Paths, published.Paths) {
		t.Errorf("the definition is OpenAPI %q with %d paths, and the published one has %d", given.OpenAPI, len(given.Paths), len(published.Paths))
	}
}
