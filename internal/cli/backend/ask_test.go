package backend_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	slashes "path"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// TestTheServerReadsWhatWasAsked sends random questions of each type, and compares them with what the framework of the server reads.
func TestTheServerReadsWhatWasAsked(t *testing.T) {
	readAs[query.EnvironmentsQuery](t, "environments")
	readAs[query.EnvironmentQuery](t, "environments/{name}")
	readAs[api.ProgressQuery](t, "environments/{name}/progress")
	readAs[api.ApplicationProgressQuery](t, "applications/{name}/progress")
	readAs[query.CompareQuery](t, "compare/{a}/{b}")
	readAs[query.DiscrepanciesQuery](t, "discrepancies")
	readAs[query.PromotionQuery](t, "promotions/{commit}")
	readAs[query.FiguresQuery](t, "figures")
	readAs[query.ApplicationsQuery](t, "applications")
	readAs[query.ApplicationQuery](t, "applications/{name}")
	readAs[query.MissingQuery](t, "missing-values")
	readAs[query.RevisionsQuery](t, "applications/{name}/environments/{environment}/targets/{target}/revisions")
	readAs[query.SolutionVersionsQuery](t, "applications/{name}/environments/{environment}/versions")
	readAs[query.TargetsQuery](t, "targets")
	readAs[api.ClustersQuery](t, "clusters")
	readAs[query.ClusterQuery](t, "clusters/{name}")
	readAs[query.HistoryQuery](t, "history")
	readAs[query.VersionsQuery](t, "versions")
	readAs[api.MessagesQuery](t, "messages")
	readAs[api.RingPath](t, "environments/{name}/pause")
	readAs[api.ApplicationPath](t, "applications/{name}/environments/{environment}/pause")
}

// readAs asks questions of type Q, and reads them as the server does.
func readAs[Q any](t *testing.T, path string) {
	t.Run(reflect.TypeFor[Q]().String(), func(t *testing.T) {
		var read Q
		mux := http.NewServeMux()
		server := humago.New(mux, huma.DefaultConfig("", ""))
		operation := huma.Operation{OperationID: "ask", Method: http.MethodGet, Path: "/api/v1/" + path}
		huma.Register(server, operation, func(_ context.Context, q *Q) (*struct{ Body string }, error) {
			read = *q
			return &struct{ Body string }{}, nil
		})
		running := httptest.NewServer(mux)
		defer running.Close()
		address, err := url.Parse(running.URL)
		if err != nil {
			t.Fatal(err)
		}
		c := &client.Client{Server: address}
		rapid.Check(t, func(t *rapid.T) {
			var asked Q
			fill(t, reflect.ValueOf(&asked).Elem())
			if _, err := client.Ask[string](t.Context(), c, path, asked); err != nil {
				t.Fatalf("%+v: %v", asked, err)
			}
			if diff := cmp.Diff(asked, read, cmp.FilterPath(untagged, cmp.Ignore())); diff != "" {
				t.Errorf("(-asked +read):\n%s", diff)
			}
		})
	})
}

// untagged selects the fields that the API does not have.
func untagged(p cmp.Path) bool {
	field, ok := p.Last().(cmp.StructField)
	if !ok {
		return false
	}
	f := p.Index(-2).Type().Field(field.Index())
	return !f.Anonymous && f.Tag.Get("query") == "" && f.Tag.Get("path") == ""
}

// isName reports whether a text can be an element of a path.
func isName(text string) bool { return slashes.Clean("/"+text) == "/"+text }

// fill sets the fields that are sent, within the limits of their tags.
func fill(t *rapid.T, question reflect.Value) {
	for field, value := range question.Fields() {
		_, path := field.Tag.Lookup("path")
		_, parameter := field.Tag.Lookup("query")
		switch {
		case field.Anonymous:
			fill(t, value)
		case path || parameter && (field.Tag.Get("required") == "true" || rapid.Bool().Draw(t, field.Name+" is given")):
			fillField(t, field, value)
		}
	}
}

func fillField(t *rapid.T, field reflect.StructField, value reflect.Value) {
	texts := rapid.StringMatching(`[a-zA-Z0-9äß%/?&=+ .{}:-]{1,12}`)
	if values := field.Tag.Get("enum"); values != "" {
		texts = rapid.SampledFrom(strings.Split(values, ","))
	} else if field.Tag.Get("pattern") != "" {
		texts = rapid.StringMatching(`[0-9a-f]{7,40}`)
	}
	switch value.Interface().(type) {
	case time.Time:
		value.Set(reflect.ValueOf(time.Unix(rapid.Int64Range(1, 1<<32).Draw(t, field.Name), rapid.Int64Range(0, 1e9-1).Draw(t, "nanoseconds")).UTC()))
		return
	}
	switch value.Kind() {
	case reflect.String:
		value.SetString(texts.Filter(isName).Draw(t, field.Name))
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int:
		most, err := strconv.Atoi(field.Tag.Get("maximum"))
		if err != nil {
			t.Fatal(err)
		}
		value.SetInt(int64(rapid.IntRange(1, most).Draw(t, field.Name)))
	case reflect.Slice:
		for range rapid.IntRange(1, 3).Draw(t, field.Name) {
			one := reflect.New(value.Type().Elem()).Elem()
			one.SetString(texts.Draw(t, field.Name))
			value.Set(reflect.Append(value, one))
		}
	default:
		t.Fatalf("%s has type %s", field.Name, value.Type())
	}
}
