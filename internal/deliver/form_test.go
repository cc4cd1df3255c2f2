package deliver_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
)

// formWorld is an application whose schema says who may set what.
func formWorld() repos {
	world := shop(2)
	source := world["https://git.example/shop main"]
	source["helm/values.schema.json"] = `{"required": ["owner"], "properties": {
		"replicas": {"type": "integer", "minimum": 0, "editableBy": ["sre"], "description": "How many run."},
		"owner": {"type": "string", "editableBy": ["ben"]},
		"env": {"type": "object"},
		"token": {"type": "string", "writeOnly": true}}}`
	source["helm/values.yaml"] += "token: abc\n"
	world["https://git.example/shop-configs dev"]["region/values.cel.yaml"] = "host: target.name + \".example.com\"\n"
	return world
}

func fieldsOf(f *deliver.Form) []string {
	var all []string
	for _, x := range f.Fields {
		text := fmt.Sprintf("%s=%q own=%v from=%s may=%v", x.Key, x.Value, x.Own, x.From, x.MayEdit)
		for name, is := range map[string]bool{" missing": x.Missing, " hidden": x.Hidden} {
			if is {
				text += name
			}
		}
		if x.Expression != "" {
			text += " is " + x.Expression
		}
		for _, o := range x.Over {
			text += fmt.Sprintf(" over %s:%s", o.From, o.Value)
		}
		all = append(all, text)
	}
	return all
}

func TestFormOfATargetHasItsLayers(t *testing.T) {
	l := &deliver.Loader{Repositories: formWorld(), Charts: localCharts{}}
	request := deliver.FormRequest{Request: deliver.Request{Source: "https://git.example/shop"}, Environment: "dev", Target: "t000", Author: editing.Author{Name: "ben"}}
	f, err := l.Form(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`env.LEVEL="info" own=false from=values.yaml:2 may=true`,
		`env.PLACE="here" own=false from=values.yaml:2 may=true`,
		`greeting="hi" own=false from=values.yaml:1 may=true over helm/values.yaml:2:hello`,
		`host="shop-t000.example.com" own=false from=region/values.cel.yaml:1 may=true is target.name + ".example.com"`,
		`image.repository="registry.example/shop" own=false from=helm/values.yaml:1 may=true`,
		`image.tag="none" own=false from=helm/values.yaml:1 may=true`,
		`owner="" own=false from= may=true missing`,
		`replicas="1" own=true from=region/t000/values.yaml:1 may=false`,
		`token="" own=false from=helm/values.yaml:3 may=true hidden`,
	}
	if diff := cmp.Diff(want, fieldsOf(f)); diff != "" {
		t.Error(diff)
	}
	if f.File != "region/t000/values.yaml" || strings.Join(f.Targets, " ") != "t000" || f.Fields[7].Help != "How many run." || strings.Join(f.Fields[7].Editors, " ") != "sre" {
		t.Errorf("got %+v", f)
	}
}

func TestFormOfAFolderIsForItsTargets(t *testing.T) {
	l := &deliver.Loader{Repositories: formWorld(), Charts: localCharts{}}
	request := deliver.FormRequest{Request: deliver.Request{Source: "https://git.example/shop"}, Environment: "dev", Folder: "region"}
	f, err := l.Form(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if f.File != "region/values.yaml" || strings.Join(f.Targets, " ") != "t000 t001" {
		t.Errorf("got %s for %v", f.File, f.Targets)
	}
	for _, x := range f.Fields {
		if x.Key == "replicas" && (x.Set || x.MayEdit) || x.Key == "greeting" && x.Value != "hi" {
			t.Errorf("got %+v", x)
		}
	}
	request.Folder = ""
	if f, err = l.Form(t.Context(), request); err != nil || strings.Join(f.AllTargets, " ") != "t000 t001" || strings.Join(f.AllFolders, " ") != ". region" || len(f.Fields) > 0 {
		t.Errorf("got %+v, %v", f, err)
	}
	for folder, want := range map[string]string{"elsewhere": `no target of dev is in the folder "elsewhere"`, "../x": "the folder"} {
		request.Folder = folder
		if _, err := l.Form(t.Context(), request); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", folder, err)
		}
	}
}
