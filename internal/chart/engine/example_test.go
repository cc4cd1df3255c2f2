package engine_test

import (
	"fmt"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/engine"
)

func Example() {
	job := chart.Job{
		Form: chart.FormChart,
		Files: []chart.File{
			{Path: "Chart.yaml", Content: []byte("apiVersion: v2\nname: hello\nversion: 0.1.0\n")},
			{Path: "templates/pod.yaml", Content: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: {{ .Release.Name }}}\nspec: {containers: [{image: \"hello:{{ .Values.image.tag }}\"}]}\n")},
		},
		Config: map[string][]byte{"values.yaml": []byte("image: {tag: latest}\n")},
		Targets: []chart.Target{{
			Name: "functional-test", Layers: []string{"values.yaml"}, Image: map[string]string{"image.tag": "1.4.0"},
			Options: chart.Options{Release: "hello"},
		}},
	}
	target := engine.Run(&job, nil).Targets[0]
	fmt.Println(target.Manifests.Objects[0], target.Manifests.Images)
	fmt.Print(string(target.Manifests.Content))
	// Output:
	// Pod/hello [hello:1.4.0]
	// ---
	// # Source: hello/templates/pod.yaml
	// apiVersion: v1
	// kind: Pod
	// metadata: {name: hello}
	// spec: {containers: [{image: "hello:1.4.0"}]}
}
