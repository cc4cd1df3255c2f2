package engine

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	helm "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/chart/v2/util"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// helmChart is a chart that is ready to be rendered. It is immutable and safe for concurrent use.
type helmChart struct {
	name string

	loaded *helm.Chart
	// schemas are the compiled schemas of the chart and of those it depends on, by the digest of their text.
	schemas map[[sha256.Size]byte]compiledSchema
}

type compiledSchema struct {
	schema *values.Schema
	err    error
}

// load reads a chart from its files, with paths relative to the folder of Chart.yaml.
// The charts that it depends on must be in the folder charts, as folders or archives: see missing.
func load(files []chart.File) (c *helmChart, err error) {
	defer func() {
		if r := recover(); r != nil {
			c, err = nil, fmt.Errorf("load chart: helm failed: %v", r)
		}
	}()
	sorted, err := chart.Checked(files)
	if err != nil {
		return nil, fmt.Errorf("load chart: %w", err)
	}
	sorted, err = withoutIgnored(sorted)
	if err != nil {
		return nil, fmt.Errorf("load chart: %w", err)
	}
	if sorted, err = unpacked(sorted); err != nil {
		return nil, fmt.Errorf("load chart: %w", err)
	}
	loaded, err := loader.LoadFiles(buffered(sorted))
	if err != nil {
		return nil, fmt.Errorf("load chart: %w", plain(err))
	}
	c = &helmChart{name: loaded.Name(), loaded: loaded, schemas: map[[sha256.Size]byte]compiledSchema{}}
	if err := c.prepare(loaded, loaded.Name(), 0); err != nil {
		return nil, fmt.Errorf("load chart %q: %w", c.name, err)
	}
	return c, nil
}

// buffered converts files for Helm's loader.
func buffered(files []chart.File) []*archive.BufferedFile {
	result := make([]*archive.BufferedFile, len(files))
	for i, f := range files {
		content := bytes.TrimPrefix(f.Content, []byte("\ufeff"))
		result[i] = &archive.BufferedFile{Name: f.Path, ModTime: time.Time{}, Data: content}
	}
	return result
}

// maxCharts is the maximum depth of dependencies.
const maxCharts = 16

// prepare inserts the meter's calls into the templates, and compiles the schemas, of a chart and its dependencies.
func (c *helmChart) prepare(ch *helm.Chart, name string, depth int) error {
	if depth > maxCharts {
		return fmt.Errorf("charts depend on each other more than %d levels deep", maxCharts)
	}
	if slices.Contains(ch.Metadata.Dependencies, nil) {
		return fmt.Errorf("a dependency of %s is empty", name)
	}
	for _, t := range ch.Templates {
		guarded, err := guard(string(t.Data))
		if err != nil {
			return fmt.Errorf("template %q: %w", path.Join(name, t.Name), err)
		}
		t.Data = []byte(guarded)
	}
	if len(ch.Schema) > 0 {
		at := fleet.Position{Source: "chart", File: path.Join(name, "values.schema.json")}
		schema, err := values.CompileSchema(at, ch.Schema)
		c.schemas[sha256.Sum256(ch.Schema)] = compiledSchema{schema, err}
	}
	// The loader uses a map, and the order affects the output.
	dependencies := slices.Clone(ch.Dependencies())
	slices.SortFunc(dependencies, func(a, b *helm.Chart) int {
		return strings.Compare(a.Name()+" "+a.Metadata.Version, b.Name()+" "+b.Metadata.Version)
	})
	ch.SetDependencies(dependencies...)
	for _, d := range dependencies {
		if err := c.prepare(d, path.Join(name, "charts", d.Name()), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// missing returns the first dependency in Chart.yaml that is not in the folder charts; "" if all are.
func (c *helmChart) missing() string {
	for _, d := range c.loaded.Metadata.Dependencies {
		there := slices.ContainsFunc(c.loaded.Dependencies(), func(have *helm.Chart) bool {
			return have.Name() == d.Name && util.IsCompatibleRange(d.Version, have.Metadata.Version)
		})
		if !there {
			return d.Name
		}
	}
	return ""
}

// copyOf copies the parts of a chart that rendering modifies. Files and values are shared: Helm copies values itself.
func copyOf(ch *helm.Chart) *helm.Chart {
	c := &helm.Chart{
		Metadata: copyMetadata(ch.Metadata), Lock: ch.Lock, Templates: ch.Templates,
		Values: ch.Values, Schema: ch.Schema, Files: ch.Files,
	}
	for _, d := range ch.Dependencies() {
		c.AddDependency(copyOf(d))
	}
	return c
}

func copyMetadata(m *helm.Metadata) *helm.Metadata {
	c := *m
	c.Dependencies = nil
	for _, d := range m.Dependencies {
		copied := *d
		c.Dependencies = append(c.Dependencies, &copied)
	}
	return &c
}

// capabilities returns what templates see of the clusters.
func capabilities(o chart.Options) (*common.Capabilities, error) {
	version := o.Kubernetes.Version
	if version == "" {
		version = chart.DefaultKubernetes
	}
	kubernetes, err := common.ParseKubeVersion(version)
	if err != nil {
		return nil, fmt.Errorf("read Kubernetes version %q: %w", version, err)
	}
	c := common.DefaultCapabilities.Copy()
	c.KubeVersion = *kubernetes
	c.APIVersions = slices.Concat(c.APIVersions, o.Kubernetes.APIVersions)
	slices.Sort(c.APIVersions)
	c.APIVersions = slices.Compact(c.APIVersions)
	// A chart must not depend on how this program was built.
	c.HelmVersion.GitCommit, c.HelmVersion.GitTreeState, c.HelmVersion.GoVersion = "", "", ""
	return c, nil
}
