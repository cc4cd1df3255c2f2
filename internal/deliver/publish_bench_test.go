package deliver_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/solution/registry"
)

// BenchmarkPublish publishes 1,000 targets of a chart with two Deployments and 18 ConfigMaps to a folder with an image layout: the merged commit is rendered again from
// its inputs and compared, then packed and stored.
func BenchmarkPublish(b *testing.B) {
	r := shop(1000, 2)
	for n := range 18 {
		r[sourceMain][fmt.Sprintf("helm/templates/c%02d.yaml", n)] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings-%d}\ndata: {greeting: {{ .Values.greeting | quote }}, replicas: {{ .Values.replicas | quote }}}\n", n)
	}
	first, err := versions(r).Draft(b.Context(), deliver.DraftRequest{
		Request: deliver.Request{Source: "https://git.example/shop"}, Environment: "dev", Build: deliver.Build{Version: "1.0.0", Image: "1.0.0"},
	})
	if err != nil {
		b.Fatal(err)
	}
	r.publish(first)
	request := deliver.VersionRequest{Request: deliver.Request{Source: "https://git.example/shop"}, Environment: "dev"}
	version, err := versions(r).Merged(b.Context(), request)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("rebuild", func(b *testing.B) {
		for b.Loop() {
			if _, err := versions(r).Merged(b.Context(), request); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("store", func(b *testing.B) {
		size := 0
		for _, f := range version.Files {
			size += len(f.Content)
		}
		artifact, err := version.Artifact()
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			s, err := registry.Open(&remote.Client{}, registry.Reference{Folder: filepath.Join(b.TempDir(), "versions")}, true)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := s.Release(b.Context(), version, registry.Release{Latest: true}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(version.Files)), "files")
		b.ReportMetric(float64(len(version.Checks.Findings)), "findings")
		b.ReportMetric(float64(size)/1e6, "MB")
		b.ReportMetric(float64(len(artifact.Layer.Content))/1e6, "compressed-MB")
	})
}
