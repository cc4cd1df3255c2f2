package shipped

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/rhysd/actionlint"
	"helm.sh/helm/v4/pkg/chart/common"
	chartutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/sample/scaffold"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

const (
	root  = "../.."
	chart = root + "/charts/kalypso"
)

// values returns the examples that chart-testing reads, by name.
func values(t *testing.T) map[string]common.Values {
	t.Helper()
	paths, err := filepath.Glob(chart + "/ci/*-values.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no values: %v", err)
	}
	all := map[string]common.Values{}
	for _, path := range paths {
		v, err := common.ReadValuesFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(path)] = v
	}
	return all
}

// TestChartIsLinted as by "ct lint" and "helm lint --strict", with each file of values.
func TestChartIsLinted(t *testing.T) {
	all := values(t)
	for name, v := range all {
		for _, m := range lint.RunAll(chart, v, "kalypso").Messages {
			if m.Severity >= support.WarningSev {
				t.Errorf("%s: %s", name, m)
			}
		}
	}
	t.Logf("%d agreed", len(all))
}

// TestObjectsOfTheChart have no field that Kubernetes does not know. Notes name the ledger that is in use.
func TestObjectsOfTheChart(t *testing.T) {
	ledgers := map[string]string{
		"server-values.yaml": "--ledger '/data/ledger.db'", "replicas-values.yaml": "--ledger 'postgres://kalypso@postgres.kalypso.svc/kalypso'",
	}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{Yaml: true, Strict: true})
	agreed, unknown := 0, 0
	for name, v := range values(t) {
		for file, text := range render(t, v) {
			if strings.HasSuffix(file, "NOTES.txt") {
				if !strings.Contains(text, ledgers[name]) {
					t.Errorf("%s: the notes do not have %q:\n%s", name, ledgers[name], text)
				}
				continue
			}
			for document := range strings.SplitSeq(text, "\n---\n") {
				var object map[string]any
				if err := yaml.Unmarshal([]byte(document), &object); err != nil || object == nil {
					continue // a file of nothing but comments
				}
				switch _, _, err := decoder.Decode([]byte(document), nil, nil); {
				case runtime.IsNotRegisteredError(err):
					unknown++ // of the Gateway API, the Prometheus Operator, and definitions, which other tests check
				case err != nil:
					t.Errorf("%s, %s: %v\n%s", name, file, err, document)
				default:
					agreed++
				}
			}
		}
	}
	t.Logf("%d agreed, %d of other kinds", agreed, unknown)
	if agreed < 20 {
		t.Errorf("%d objects, want more", agreed)
	}
}

func render(t *testing.T, v common.Values) map[string]string {
	t.Helper()
	loaded, err := loader.Load(chart)
	if err != nil {
		t.Fatal(err)
	}
	top, err := chartutil.ToRenderValues(loaded, v, common.ReleaseOptions{Name: "kalypso", Namespace: "kalypso", IsInstall: true}, common.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(loaded, top)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestWorkflows of this repository, and those that "kalypso init ci" writes.
func TestWorkflows(t *testing.T) {
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{Shellcheck: "", Pyflakes: ""})
	if err != nil {
		t.Fatal(err)
	}
	agreed := 0
	check := func(name string, text []byte) {
		problems, err := linter.Lint("<"+name+">", text, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Errorf("%s:%d: %s [%s]", name, p.Line, p.Message, p.Kind)
		}
		agreed++
	}
	own, err := filepath.Glob(root + "/.github/workflows/*.yml")
	if err != nil || len(own) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	for _, path := range own {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		check(filepath.Base(path), text)
	}
	facts := scaffold.Facts{Version: "v1.2.3", Own: scaffold.StepsOf(fstest.MapFS{}), Environments: []schedule.EnvironmentBranch{
		{Environment: "dev", Branch: "dev"}, {Environment: "stage", Branch: "release/stage"},
	}}
	for _, version := range []string{"v1.2.3", "0123456789abcdef0123456789abcdef01234567"} {
		facts.Version = version
		for _, kind := range scaffold.Kinds {
			files, err := scaffold.Forges[0].Workflows(kind, facts)
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range files {
				check(string(kind)+"/"+filepath.Base(name), bytes.TrimSpace(text))
			}
		}
	}
	t.Logf("%d agreed", agreed)
}

// TestOpenAPI is valid by the schema of OpenAPI, and its references lead somewhere.
func TestOpenAPI(t *testing.T) {
	text, err := os.ReadFile(root + "/docs/reference/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	document, err := libopenapi.NewDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	v, errs := validator.NewValidator(document)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	_, problems := v.ValidateDocument()
	for _, p := range problems {
		t.Errorf("%s: %s", p.Message, p.Reason)
		for _, s := range p.SchemaValidationErrors {
			t.Errorf("  line %d: %s", s.Line, s.Reason)
		}
	}
	model, err := document.BuildV3Model()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d paths agreed", model.Model.Paths.PathItems.Len())
}
