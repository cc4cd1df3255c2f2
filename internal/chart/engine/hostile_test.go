package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/engine"
)

// oneTemplate returns a job with a chart of one template, and optionally more files.
func oneTemplate(template string, more ...chart.File) *chart.Job {
	return &chart.Job{
		Form: chart.FormChart,
		Files: append([]chart.File{
			{Path: "Chart.yaml", Content: []byte("apiVersion: v2\nname: hello\nversion: 0.1.0\n")},
			{Path: "templates/x.yaml", Content: []byte(template)},
		}, more...),
		Targets: []chart.Target{{Name: "t", Options: chart.Options{Release: "hello", Namespace: "ns"}}},
	}
}

// printing wraps a template's output into an object.
func printing(template string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {x: \"" + template + "\"}\n"
}

// Whatever a template does, rendering ends within about two seconds, and reports the reason.
func TestHostileCharts(t *testing.T) {
	for name, tc := range map[string]struct{ template, want string }{
		"loop over a number":          {`{{ range 1000000000 }}{{ end }}`, "more than 32 MiB of work"},
		"loops in loops":              {`{{ range until 1000 }}{{ range until 1000 }}{{ range until 1000 }}x{{ end }}{{ end }}{{ end }}`, "more than 32 MiB of work"},
		"loop in a text":              {`{{ tpl "{{ range until 1000 }}{{ range until 1000 }}{{ range until 1000 }}{{ end }}{{ end }}{{ end }}" . }}`, "more than 32 MiB of work"},
		"trimmed loop":                {"{{- range until 1000 -}}\n {{- range until 1000 -}} {{/* c */}} {{- range until 1000 -}} x {{- end -}} {{- end -}} {{- end -}}", "more than 32 MiB of work"},
		"JSON of doubled lists":       {`{{ $l := list 1 2 }}{{ range until 40 }}{{ $l = list $l $l }}{{ end }}{{ toJson $l | len }}`, "units of work"},
		"YAML of doubled lists":       {`{{ $l := list 1 2 }}{{ range until 40 }}{{ $l = list $l $l }}{{ end }}{{ toYaml $l | len }}`, "units of work"},
		"doubled lists, printed":      {`{{ $l := list 1 2 }}{{ range until 40 }}{{ $l = list $l $l }}{{ end }}{{ print $l | len }}`, "units of work"},
		"doubled lists in a map":      {`{{ $l := list 1 2 }}{{ range until 40 }}{{ $l = list $l $l }}{{ end }}{{ $_ := set (dict) "a" $l }}`, "units of work"},
		"a text that doubles":         {`{{ $a := "aaaaaaaaaaaaaaaa" }}{{ range until 60 }}{{ $a = print $a $a }}{{ end }}{{ len $a }}`, "units of work"},
		"a list that doubles":         {`{{ $l := until 1000 }}{{ range until 40 }}{{ $l = concat $l $l }}{{ end }}{{ len $l }}`, "units of work"},
		"sorted again and again":      {`{{ $l := until 100000 }}{{ range until 10000 }}{{ $x := sortAlpha $l }}{{ end }}`, "units of work"},
		"hashed again and again":      {`{{ $a := repeat 1000000 "a" }}{{ range until 10000 }}{{ $x := sha256sum $a }}{{ end }}`, "units of work"},
		"searched again and again":    {`{{ $l := until 100000 }}{{ range $l }}{{ if has . $l }}{{ end }}{{ end }}`, "units of work"},
		"compared again and again":    {`{{ $a := repeat 1000000 "a" }}{{ $b := repeat 1000000 "a" }}{{ range until 10000 }}{{ if eq $a $b }}{{ end }}{{ end }}`, "units of work"},
		"parsed again and again":      {`{{ $a := repeat 100000 "- a" }}{{ range until 10000 }}{{ $x := fromYaml $a }}{{ end }}`, "units of work"},
		"passwords":                   {`{{ range until 10000 }}{{ $x := derivePassword 1 "long" "a" "b" "c" }}{{ end }}`, "units of work"},
		"list of a billion":           {`{{ until 1000000000 }}`, "until would need"},
		"steps without end":           {`{{ untilStep 0 2000000000 1 }}`, "untilStep would need"},
		"sequence without end":        {`{{ seq 1 0 5 }}{{ seq 1 2000000000 }}`, "seq would need"},
		"repeat":                      {`{{ repeat 1000000000 "x" }}`, "repeat would need"},
		"indent":                      {`{{ "a" | nindent 1000000000 }}`, "nindent would need"},
		"list that is large":          {`{{ until 2000000 }}`, "until would make"},
		"repeat a million":            {`{{ repeat 2000000 "x" }}`, "repeat would make"},
		"indent by thousands":         {`{{ "a" | nindent 2000 }}`, "indent takes"},
		"template in itself":          {`{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}`, "levels deep"},
		"include in itself":           {`{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`, "levels deep"},
		"include in turns":            {`{{ define "a" }}{{ include "b" . }}{{ end }}{{ define "b" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`, "levels deep"},
		"block in itself":             {`{{ block "a" . }}{{ template "a" . }}{{ end }}`, "levels deep"},
		"file in itself":              {`{{ include "hello/templates/x.yaml" . }}`, "levels deep"},
		"text in itself":              {`{{ $_ := set . "t" "{{ tpl .t . }}" }}{{ tpl .t . }}`, "levels deep"},
		"text in parentheses":         {`{{ $_ := set . "t" "{{ (tpl (.t | trim) .) }}" }}{{ print (tpl ( print .t ) . ) }}`, "levels deep"},
		"definition in a text":        {`{{ tpl "{{ define \"a\" }}{{ include \"a\" . }}{{ end }}{{ include \"a\" . }}" . }}`, "levels deep"},
		"twice each time":             {`{{ define "a" }}{{ if lt (len .) 60 }}{{ include "a" (append . 1) }}{{ include "a" (append . 1) }}{{ end }}{{ end }}{{ include "a" list }}`, "units of work"},
		"map in itself":               {`{{ $d := dict }}{{ $_ := set $d "a" $d }}{{ print $d }}`, "map into itself"},
		"map in a list in itself":     {`{{ $d := dict }}{{ $_ := set $d "a" (list $d) }}{{ toYaml $d }}`, "map into itself"},
		"map merged into itself":      {`{{ $d := dict "b" 1 }}{{ $_ := merge $d (dict "a" $d) }}{{ print $d }}`, "map into itself"},
		"map overwritten by itself":   {`{{ $d := dict "x" (dict "x" 1) }}{{ $_ := mergeOverwrite $d (dict "x" (dict "x" $d)) }}{{ print $d }}`, "map into itself"},
		"the root in itself":          {`{{ $_ := set . "a" . }}{{ print . }}`, "map into itself"},
		"guard":                       {`{{ kalypsoLeave }}`, "kalypsoLeave is not for templates"},
		"guard in a text":             {`{{ tpl "{{ kalypsoLeave }}" . }}`, "kalypsoLeave is not for templates"},
		"clock for want of a time":    {`{{ date "2006" "today" }}`, "a date must be a time"},
		"time of now in a duration":   {`{{ durationRound (toDate "2006" "2000") }}`, "durationRound of a time is left out"},
		"time zone":                   {`{{ dateInZone "2006" 0 "Europe/Berlin" }}`, "depends on the machine"},
		"environment":                 {`{{ env "HOME" }}`, `function "env" not defined`},
		"required":                    {`{{ required "the tag is missing" .Values.tag }}`, "the tag is missing"},
		"no template":                 {`{{ if }}`, "parse error at (hello/templates/x.yaml:1)"},
		"not closed":                  {`{{ range until 3 }}{{ tpl "x" . `, "parse error"},
		"not YAML":                    {"a: [", "hello/templates/x.yaml: its output is not valid YAML"},
		"not an object":               {"just text", "hello/templates/x.yaml"},
		"not a kind":                  {"a: b", "has no apiVersion or no kind"},
		"panic in a function of ours": {`{{ fromYaml "a: &a [*a]" }}{{ fail "end" }}`, "end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := engine.Run(oneTemplate(tc.template), nil).Targets[0]
			if got := showProblems(r.Problems); !strings.Contains(got, tc.want) {
				t.Errorf("got %.600q and %v, want %q", got, r.Manifests, tc.want)
			}
		})
	}
}

// Functions from sprig, and their replacements, behave as documented.
func TestFunctions(t *testing.T) {
	for template, want := range map[string]string{
		`{{ date "2006-01-02" 0 }} {{ htmlDate 86400 }} {{ toDate "2006-01-02" "2020-02-03" | date "02.01.2006" }}`: "1970-01-01 1970-01-02 03.02.2020",
		`{{ dateInZone "15:04" 60 "UTC" }} {{ htmlDateInZone 0 "" }} {{ mustToDate "2006" "2020" | unixEpoch }}`:    "00:01 1970-01-01 1577836800",
		`{{ durationRound "26h" }}`:                                                                              "1d",
		`{{ keys (dict "b" 1 "a" 2) | join "," }}`:                                                               "a,b",
		`{{ values (dict "b" 1 "a" 2) | join "," }}`:                                                             "2,1",
		`{{ until 3 }} {{ until -2 }} {{ untilStep 1 6 2 }} {{ untilStep 3 0 -1 }}`:                              "[0 1 2] [0 -1] [1 3 5] [3 2 1]",
		`{{ seq 3 }} {{ seq 2 4 }} {{ seq 0 2 5 }} {{ seq 2 }}`:                                                  "1 2 3 2 3 4 0 2 4 1 2",
		`{{ repeat 3 "x" }}{{ indent 2 "y" }}`:                                                                   "xxx  y",
		`{{ (merge (dict "a" 1) (dict "a" 2 "b" 3)).b }}`:                                                        "3",
		`{{ (mergeOverwrite (dict "a" 1) (dict "a" 2 "b" 3)).a }}`:                                               "2",
		`{{ (mustMerge (dict "a" 1) (dict "b" 3)).b }}`:                                                          "3",
		`{{ (mustMergeOverwrite (dict "a" 1) (dict "a" 3)).a }}`:                                                 "3",
		`{{ $d := dict "a" 1 }}{{ $_ := set $d "b" (dict "c" $d.a) }}{{ $d.b.c }}`:                               "1",
		`{{ (lookup "v1" "Secret" "" "x").data }}{{ getHostByName "localhost" }}.`:                               ".",
		`{{ if false }}{{ randAlpha 3 }}{{ end }}fine`:                                                           "fine",
		`{{ tpl "{{ .Release.Name }}" . }}{{ tpl (printf "%s" "x") . }}{{ . | tpl "{{ .Release.Namespace }}" }}`: "helloxns",
		`{{ .Capabilities.HelmVersion.GoVersion }}{{ .Release.Revision }}`:                                       "1",
	} {
		r := engine.Run(oneTemplate(printing(template)), nil).Targets[0]
		if r.Manifests == nil {
			t.Errorf("%s: %s", template, showProblems(r.Problems))
			continue
		}
		if got := string(r.Manifests.Content); !strings.Contains(got, fmt.Sprintf("data: {x: %q}", want)) {
			t.Errorf("%s: got %s, want %q", template, got, want)
		}
	}
}

// Too many or too large files, and invalid paths, are errors that name them.
func TestFilesAreRefused(t *testing.T) {
	many := make([]chart.File, chart.MaxFiles+1)
	for name, tc := range map[string]struct {
		files []chart.File
		want  string
	}{
		"leaves":        {[]chart.File{{Path: "../x"}}, `"../x" leaves the folder`},
		"absolute":      {[]chart.File{{Path: "/etc/passwd"}}, "leaves the folder"},
		"not plain":     {[]chart.File{{Path: "templates/../../x"}}, "leaves the folder"},
		"backslash":     {[]chart.File{{Path: `templates\x`}}, "is not the path of a file"},
		"control":       {[]chart.File{{Path: "a\nb"}}, "is not the path of a file"},
		"symbolic link": {[]chart.File{{Path: "templates/link.yaml", Symlink: true}}, "is a symbolic link"},
		"twice":         {[]chart.File{{Path: "a"}, {Path: "a"}}, "is there twice"},
		"too large":     {[]chart.File{{Path: "big", Content: make([]byte, chart.MaxSize+1)}}, "more than the 20971520"},
		"too many":      {many, "more than the 20000"},
	} {
		t.Run(name, func(t *testing.T) {
			job := oneTemplate("", tc.files...)
			for _, form := range []chart.Form{chart.FormChart, chart.FormKustomization, chart.FormManifests} {
				job.Form = form
				if got := showProblems(engine.Run(job, nil).Targets[0].Problems); !strings.Contains(got, tc.want) {
					t.Errorf("%s: got %q, want %q", form, got, tc.want)
				}
			}
		})
	}
}

// Metadata that Helm's own code does not expect is an error, too.
func TestBrokenCharts(t *testing.T) {
	for metadata, want := range map[string]string{
		"":        "load chart",
		"name: x": "load chart",
		"apiVersion: v2\nname: x\nversion: 1.0.0\ndependencies: [null]": "load chart",
		"apiVersion: v2\nname: x\nversion: 1.0.0\nkubeVersion: '>2'":    "requires Kubernetes >2",
		"- 1": "load chart",
	} {
		job := oneTemplate("")
		job.Files[0].Content = []byte(metadata)
		if got := showProblems(engine.Run(job, nil).Targets[0].Problems); !strings.Contains(got, want) {
			t.Errorf("%q: got %q, want %q", metadata, got, want)
		}
	}
}
