package assistant

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// filled are answers to questions in which every field has a value.
type filled struct{}

func answerOf[T any]() (T, error) {
	var v T
	fill(reflect.ValueOf(&v).Elem(), 6)
	return v, nil
}

// fill sets every field of a value that can be set.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"a":1}`))
		} else if depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), depth-1)
		}
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth-1)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), depth-1)
			}
		}
	}
}

func (filled) Environments(context.Context, query.EnvironmentsQuery) (query.Page[query.Environment], error) {
	return answerOf[query.Page[query.Environment]]()
}

func (filled) Environment(context.Context, query.EnvironmentQuery) (query.EnvironmentDetail, error) {
	return answerOf[query.EnvironmentDetail]()
}

func (filled) Progress(context.Context, query.ProgressQuery) (query.Progress, error) {
	return answerOf[query.Progress]()
}

func (filled) Discrepancies(context.Context, query.DiscrepanciesQuery) (query.Page[query.Discrepancy], error) {
	return answerOf[query.Page[query.Discrepancy]]()
}

func (filled) Promotion(context.Context, query.PromotionQuery) (query.PromotionDetail, error) {
	return answerOf[query.PromotionDetail]()
}

func (filled) Clusters(context.Context, query.ClustersQuery) (query.Page[query.Cluster], error) {
	return answerOf[query.Page[query.Cluster]]()
}

func (filled) Cluster(context.Context, query.ClusterQuery) (query.ClusterDetail, error) {
	return answerOf[query.ClusterDetail]()
}

func (filled) Applications(context.Context, query.ApplicationsQuery) (query.Page[query.Application], error) {
	return answerOf[query.Page[query.Application]]()
}

func (filled) Application(context.Context, query.ApplicationQuery) (query.ApplicationDetail, error) {
	return answerOf[query.ApplicationDetail]()
}

func (filled) Versions(context.Context, query.VersionsQuery) (query.Page[query.Version], error) {
	return answerOf[query.Page[query.Version]]()
}

func (filled) History(context.Context, query.HistoryQuery) (query.Page[query.Event], error) {
	return answerOf[query.Page[query.Event]]()
}

func (filled) Compare(context.Context, query.CompareQuery) (query.Comparison, error) {
	return answerOf[query.Comparison]()
}

func (filled) Figures(context.Context, query.FiguresQuery) (query.Figures, error) {
	return answerOf[query.Figures]()
}

// connect returns a session with a server of tools.
func connect(t *testing.T, q Questions) *mcp.ClientSession {
	t.Helper()
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := New(Options{Questions: q, Version: "v1"}).Connect(t.Context(), ours, nil); err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "v1"}, nil).Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// TestAnswersHaveTheirSchema: each tool says what its answers look like, and sends them as structured content, which has the schema.
func TestAnswersHaveTheirSchema(t *testing.T) {
	session := connect(t, filled{})
	arguments := map[string]map[string]any{
		"get_environment": {"environment": "dev"}, "get_progress": {"environment": "dev"}, "get_promotion": {"commit": "abcdef1"}, "get_cluster": {"cluster": "a"},
		"get_application": {"application": "shop"}, "list_history": {"environment": "dev"}, "compare": {"a": "dev", "b": "stage"},
	}
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 13 {
		t.Fatalf("%v: %d tools", err, len(tools.Tools))
	}
	for _, tool := range tools.Tools {
		if tool.Title == "" || tool.OutputSchema == nil {
			t.Errorf("%s has no title or no schema of its answers", tool.Name)
			continue
		}
		in := arguments[tool.Name]
		if in == nil {
			in = map[string]any{}
		}
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: in})
		if err != nil || r.IsError {
			t.Errorf("%s: %v, %s", tool.Name, err, again(t, r))
			continue
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("answer.json", again(t, tool.OutputSchema)); err != nil {
			t.Fatal(err)
		}
		if err := compiler.MustCompile("answer.json").Validate(again(t, r.StructuredContent)); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		}
		in["colour"] = "red"
		if r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: in}); err == nil && !r.IsError {
			t.Errorf("%s takes an argument that it does not have", tool.Name)
		}
	}
	// A schema that says nothing would be true of everything.
	if text, err := json.Marshal(tools.Tools[0].OutputSchema); err != nil || strings.Count(string(text), `"type"`) < 5 {
		t.Errorf("the schema of %s says too little: %s", tools.Tools[0].Name, text)
	}
}

// again returns a value as its JSON decodes.
func again(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return value
}
