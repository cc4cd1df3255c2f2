package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	fleetpkg "github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// spec is the part of the description that tests look at.
type spec struct {
	OpenAPI string `json:"openapi"`
	Info    map[string]any
	Paths   map[string]map[string]struct {
		OperationID, Summary, Description string
		Tags                              []string
		Parameters                        []struct{ Name, In, Description string }
		Responses                         map[string]struct {
			Content map[string]struct {
				Schema struct {
					Ref string `json:"$ref"`
				}
			}
		}
	}
	Components struct {
		Schemas map[string]struct {
			Description string
			Properties  map[string]struct {
				Ref         string `json:"$ref"`
				Description string
			}
		}
	}
}

func readSpec(t *testing.T) (spec, []byte) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/reference/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err = yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	var s spec
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s, text
}

func TestDescriptionIsComplete(t *testing.T) {
	s, text := readSpec(t)
	if s.OpenAPI != "3.1.0" {
		t.Errorf("it is OpenAPI %s", s.OpenAPI)
	}
	placeholder := regexp.MustCompile(`\{(\w+)\}`)
	for path, methods := range s.Paths {
		for method, op := range methods {
			problem := op.Responses["default"].Content["application/problem+json"].Schema.Ref
			if op.Summary == "" || op.OperationID == "" || len(op.Tags) != 1 || problem != "#/components/schemas/Problem" {
				t.Errorf("%s %s is not complete: %+v", method, path, op)
			}
			declared := map[string]bool{}
			for _, p := range op.Parameters {
				declared[p.Name] = true
				if p.Description == "" {
					t.Errorf("%s %s: nothing says what %s is", method, path, p.Name)
				}
			}
			for _, p := range placeholder.FindAllStringSubmatch(path, -1) {
				if !declared[p[1]] {
					t.Errorf("%s %s: %s is not declared", method, path, p[1])
				}
			}
		}
	}
	for _, ref := range regexp.MustCompile(`"\$ref":"#/components/schemas/([^"]+)"`).FindAllSubmatch(text, -1) {
		if _, ok := s.Components.Schemas[string(ref[1])]; !ok {
			t.Errorf("%s is referred to and not there", ref[1])
		}
	}
}

// TestTypesAreWhatTheirFieldsSay: a type that writes itself as JSON in a way of its own would be described wrongly.
func TestTypesAreWhatTheirFieldsSay(t *testing.T) {
	for _, described := range api.Types() {
		if described.Implements(reflect.TypeFor[json.Marshaler]()) || reflect.PointerTo(described).Implements(reflect.TypeFor[json.Marshaler]()) {
			t.Errorf("%s has a MarshalJSON: add it to the aliases", described)
		}
	}
}

// TestDescriptionIsServed to everybody, in both formats, and is the one of the documentation.
func TestDescriptionIsServed(t *testing.T) {
	w := newWorld(t)
	want, _ := readSpec(t)
	for _, format := range []string{"json", "yaml"} {
		a := w.call(http.MethodGet, "/api/openapi."+format, "", nil)
		if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/openapi+"+format {
			t.Errorf("%s: got %d %v", format, a.status, a.header)
		}
		var got spec
		if err := yaml.Unmarshal(a.body, &got); err != nil {
			t.Fatal(err)
		}
		got.Info = want.Info // the version is that of the program
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s (-served +documented):\n%s", format, diff)
		}
	}
}

// TestAnswersAreAsDescribed asks a fleet with something in it every question, and holds the answers against the schemas.
func TestAnswersAreAsDescribed(t *testing.T) {
	w := newWorld(t)
	w.fill()
	w.explainStage()
	w.server.Values, w.server.Observer.Histories = formsOnly{}, oneMerge{}
	outcome := w.server.Observer.Fleet.ControlPlanes()[0].Scheduling["stage"].Outcome
	lacks := fleetpkg.Problem{Severity: fleetpkg.SeverityWarning, Kind: fleetpkg.KindConfigMissing, Message: "URL is required, but missing", Lacks: "URL"}
	outcome.Bundle.Folders[0].Assignments[0].Config.Lacks = []fleetpkg.Problem{lacks}
	outcome.Plan = &plan.Plan{Problems: []fleetpkg.Problem{lacks}}
	w.deliver(&branch{commit: commit("a"), read: make(chan struct{}, 1)})
	bare := w.register("edge-1", ledger.Membership{Environment: "dev", ClusterType: "bare"})
	s, text := readSpec(t)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource("openapi.json", document); err != nil {
		t.Fatal(err)
	}
	for path, methods := range s.Paths {
		op, ok := methods["get"]
		ref := op.Responses["200"].Content["application/json"].Schema.Ref
		if !ok || ref == "" {
			continue
		}
		schema, err := compiler.Compile("openapi.json" + ref)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		address := strings.NewReplacer("{commit}", commit("c"), "{a}", "dev", "{b}", "dev").Replace(path)
		switch op.OperationID {
		case "get-environment", "get-progress":
			address = strings.ReplaceAll(address, "{name}", "dev")
		case "get-target":
			address = strings.NewReplacer("{name}", "dev", "{target}", "hello-web").Replace(address)
		case "get-cluster":
			address = strings.ReplaceAll(address, "{name}", "large-07")
		case "get-workload", "get-application":
			address = strings.ReplaceAll(address, "{name}", "hello")
		case "get-application-progress":
			address = strings.ReplaceAll(address, "{name}", "hello") + "?environment=dev"
		case "explain":
			address = strings.ReplaceAll(address, "{name}", "stage") + "?target=shop/web&clusterType=large&config=*"
		case "get-application-values":
			address = strings.NewReplacer("{name}", "hello", "{environment}", "dev").Replace(address) + "?target=web"
		case "list-solution-versions", "list-revisions":
			address = strings.NewReplacer("{name}", "hello", "{environment}", "dev", "{target}", "web").Replace(address)
		case "get-values":
			address = strings.ReplaceAll(address, "{name}", "stage") + "?configMap=west"
		case "list-assignments", "get-matrix", "get-map", "get-history":
			address += "?environment=dev"
		}
		a := w.get(address)
		if op.OperationID == "get-deliveries" {
			a = w.call(http.MethodGet, address, bare, nil)
		}
		answer, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.body))
		if err != nil || a.status != http.StatusOK {
			t.Errorf("%s: got %d: %s", address, a.status, a.body)
			continue
		}
		if err := schema.Validate(answer); err != nil {
			t.Errorf("%s: %v\n%s", address, err, a.body)
		}
		// Only rounds know the policies of the map, and the environment has no rings.
		if strings.Contains(strings.ReplaceAll(string(a.body), `:{"total":0,"items":[]}`, ""), `"items":[]`) {
			t.Errorf("%s: there is nothing in it: %s", address, a.body)
		}
	}
}

// fill puts something of everything into the ledger.
func (w *world) fill() {
	w.t.Helper()
	ctx := w.t.Context()
	at := time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
	member := ledger.Membership{Environment: "dev", ClusterType: "large"}
	credential := w.register("large-07", member)
	w.register("large-08", member)
	const application = "https://git.example.com/acme/hello-gitops"
	version := ledger.Version{
		Workload: "hello", Workspace: "shop", Target: "hello-web", Environment: "dev", Path: "web", Version: "1.4.0", Commit: commit("e"), Built: at,
	}
	for _, c := range []ledger.Commit{
		{
			Repository: gitOps, Branch: "dev", SHA: commit("d"), Kind: ledger.BranchPlatform, Environment: "dev", SourceCommit: commit("c"),
			Committed: at, Recorded: at,
			Assignments: []ledger.Assignment{{ClusterType: "large", Target: "hello-web", Workload: "hello", Workspace: "shop"}},
		},
		{
			Repository: application, Branch: "dev", SHA: commit("f"), Kind: ledger.BranchApplication, Environment: "dev", SourceCommit: commit("e"),
			Committed: at, Recorded: at, Versions: []ledger.Version{version},
		},
	} {
		if err := w.ledger.RecordCommit(ctx, c); err != nil {
			w.t.Fatal(err)
		}
	}
	for i, kind := range []string{"started", "deployed"} {
		step := ledger.Step{
			PromotionID: ledger.PromotionID{Subject: controlPlane, Commit: commit("c"), Environment: "dev"}, Kind: kind,
			At: at.Add(time.Duration(i) * time.Minute), Detail: json.RawMessage(`{"revision":"` + commit("d") + `"}`),
		}
		if err := w.ledger.RecordStep(ctx, step); err != nil {
			w.t.Fatal(err)
		}
	}
	waiting := ledger.Message{Receiver: "chat", ID: "e", At: at, Event: json.RawMessage(`{"id":"e","kind":"done","environment":"dev"}`)}
	if err := w.ledger.Subscribe(ctx, []string{"chat"}, at); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.ledger.Queue(ctx, ledger.Batch{Messages: []ledger.Message{waiting}, Through: at, Now: at, Limit: 1}); err != nil {
		w.t.Fatal(err)
	}
	app := report("hello", "")
	app.Repository, app.Path, app.Revision = application, "web", commit("f")
	a := w.post("/api/v1/reports", credential, marshal(w.t, batch("", report("platform", ""), app)))
	if a.status != http.StatusOK {
		w.t.Fatalf("report: %d: %s", a.status, a.body)
	}
	if a := w.post("/api/v1/environments/dev/pause", w.tokens["operator"], `{"why": "holidays"}`); a.status != http.StatusAccepted {
		w.t.Fatalf("pause: %d: %s", a.status, a.body)
	}
}
