package web

import (
	"bytes"
	"encoding/json"
	"html/template"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/text/look"
)

// views holds the data type of every template.
var views = map[string]reflect.Type{
	"fleet": reflect.TypeFor[fleetPage](), "map": reflect.TypeFor[mapPage](), "environment": reflect.TypeFor[environmentPage](), "target": reflect.TypeFor[targetPage](), "cell": reflect.TypeFor[cellPage](),
	"workloads": reflect.TypeFor[workloadsPage](), "workload": reflect.TypeFor[workloadPage](),
	"clusters": reflect.TypeFor[clustersPage](), "cluster": reflect.TypeFor[clusterPage](),
	"promotions": reflect.TypeFor[promotionsPage](), "promotion": reflect.TypeFor[promotionPage](),
	"explain": reflect.TypeFor[explainPage](), "compare": reflect.TypeFor[comparePage](), "history": reflect.TypeFor[historyPage](), "messages": reflect.TypeFor[messagesPage](),
	"plan": reflect.TypeFor[planPage](), "figures": reflect.TypeFor[figuresPage](), "search": reflect.TypeFor[searchPage](), "failure": reflect.TypeFor[failure](),
	"needs": reflect.TypeFor[needsView](),
}

// hostile replaces every text: HTML, quotes, control characters and a bidirectional override.
const hostile = "<script>alert('1')</script>\x1b[31m\u202e\"&"

// TestTemplatesRenderAnyValue executes each template with a zero value and with a value in which every field is set.
func TestTemplatesRenderAnyValue(t *testing.T) {
	p := &Pages{Now: func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }, URL: "https://kalypso.example.com"}
	all := parse(p)
	for name := range all.pages {
		if views[name] == nil {
			t.Errorf("page %s: add the type of its data to this test", name)
		}
	}
	for name, view := range views {
		for _, what := range []string{"empty", "full"} {
			t.Run(name+"/"+what, func(t *testing.T) {
				value := reflect.New(view).Elem()
				if what == "full" {
					fill(value, 0)
				}
				main, err := all.main(name, body{Page: value.Interface(), Role: access.Reader, Command: "kalypso status"})
				if err != nil {
					t.Fatal(err)
				}
				whole, err := all.layout(frame{Shell: look.Shell{Title: name, Places: []look.Place{{Name: hostile, Address: "/"}}, User: hostile}, Main: template.HTML(main)})
				if err != nil {
					t.Fatal(err)
				}
				checkPage(t, whole)
			})
		}
	}
}

// checkPage checks the rules for pages: nothing inline, nothing from other servers, one first-level heading, labels, captions,
// and no misleading characters.
func checkPage(t *testing.T, text []byte) {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	ids, counts := map[string]bool{}, map[string]int{}
	for n := range root.Descendants() {
		if n.Type == html.TextNode && strings.ContainsAny(n.Data, "\x1b\u202e") {
			t.Errorf("a control character in a %s: %q", n.Parent.Data, n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		counts[n.Data]++
		if n.Data == "script" && n.FirstChild != nil || n.Data == "style" {
			t.Errorf("an inline %s", n.Data)
		}
		for _, a := range n.Attr {
			switch {
			case strings.ContainsAny(a.Val, "\x1b\u202e"):
				t.Errorf("a control character in %s of %s: %q", a.Key, n.Data, a.Val)
			case strings.HasPrefix(a.Key, "on"), a.Key == "style":
				t.Errorf("an inline attribute %s=%q of %s", a.Key, a.Val, n.Data)
			case a.Key == "id" && ids[a.Val]:
				t.Errorf("two elements have the id %q", a.Val)
			case a.Key == "id":
				ids[a.Val] = true
			case (a.Key == "href" || a.Key == "src") && strings.HasPrefix(strings.ToLower(a.Val), "javascript"):
				t.Errorf("an address of a script: %q", a.Val)
			case strings.Contains(a.Val, "ZgotmplZ"):
				t.Errorf("a value in an unsafe place: %s=%q", a.Key, a.Val)
			}
		}
		if n.Data == "table" && !has(n, "caption") {
			t.Error("a table has no caption")
		}
		if n.Data == "input" && n.Parent.Data != "label" && n.Parent.Data != "form" {
			t.Error("an input has no label")
		}
	}
	if counts["h1"] != 1 || counts["main"] != 1 {
		t.Errorf("%d h1 and %d main, want one of each", counts["h1"], counts["main"])
	}
}

func has(n *html.Node, name string) bool {
	for d := range n.Descendants() {
		if d.Data == name {
			return true
		}
	}
	return false
}

// fill sets every field of a value.
func fill(v reflect.Value, depth int) {
	if depth > 12 || !v.CanSet() {
		return
	}
	switch v.Type() {
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC)))
		return
	case reflect.TypeFor[json.RawMessage]():
		v.Set(reflect.ValueOf(json.RawMessage(`{}`)))
		return
	case reflect.TypeFor[template.HTML]():
		return // only the program sets it
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Interface:
		if v.NumMethod() == 0 {
			v.Set(reflect.ValueOf(hostile))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		if v.Type().Key().Kind() == reflect.String {
			value := reflect.New(v.Type().Elem()).Elem()
			fill(value, depth+1)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf(hostile).Convert(v.Type().Key()), value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth+1)
		}
	}
}

// TestCellsContainNoUntrustedText checks the part of the page that is rendered without templates.
func TestCellsContainNoUntrustedText(t *testing.T) {
	cell := query.Cell{ClusterType: hostile, Pending: hostile, States: query.StateCounts{Expected: 3, Failed: 1}}
	got, _ := cellsOf([]query.Cell{cell}, map[string]int{hostile: 0}, false, linkOf("/targets/x", []matrixColumn{{Raw: hostile}}, true, true))
	if strings.Contains(string(got), "<script") || strings.Count(string(got), `"`) != 4 {
		t.Errorf("got %s", got)
	}
}
