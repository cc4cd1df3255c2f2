package deliver_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// repos are repositories in memory: the files of each branch, by "repository branch".
type repos map[string]map[string]string

var _ deliver.Repositories = repos{}

var written = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// branch returns the files of a branch, and its commit, which is their hash.
func (r repos) branch(at schedule.Location) (map[string]string, string, error) {
	name := at.Branch
	if name == "" {
		name = "main"
	}
	files, ok := r[at.Repo+" "+name]
	if !ok && r.has(at.Repo) {
		return nil, "", schedule.ErrNoBranch
	}
	if !ok {
		return nil, "", deliver.ErrNoRepository
	}
	h := sha1.New()
	for _, p := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s\x00%s\x00", p, files[p])
	}
	return files, hex.EncodeToString(h.Sum(nil)), nil
}

func (r repos) has(repo string) bool {
	for key := range r {
		if strings.HasPrefix(key, repo+" ") {
			return true
		}
	}
	return false
}

// Source implements [deliver.Repositories].
func (r repos) Source(_ context.Context, at schedule.Location) (fleet.Source, error) {
	files, commit, err := r.branch(at)
	if err != nil {
		return fleet.Source{}, err
	}
	source := fleet.Source{Repo: at.Repo, Branch: "main", Commit: commit, Time: written}
	for _, p := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(p, ".yaml") && !strings.HasPrefix(p, "helm/") {
			content := files[p]
			source.Files = append(source.Files, fleet.File{
				Path: p, ID: bundle.HashOf([]byte(content)).String(), Size: int64(len(content)),
				Read: func() ([]byte, error) { return []byte(content), nil },
			})
		}
	}
	return source, nil
}

// Files implements [deliver.Repositories].
func (r repos) Files(_ context.Context, at schedule.Location) (*deliver.Files, error) {
	files, commit, err := r.branch(at)
	if err != nil {
		return nil, err
	}
	list := &deliver.Files{Branch: at.Branch, Commit: commit, Time: written}
	for _, p := range slices.Sorted(maps.Keys(files)) {
		if at.Path == "" || strings.HasPrefix(p, at.Path+"/") {
			list.Entries = append(list.Entries, deliver.Entry{Path: p, Hash: bundle.HashOf([]byte(files[p])), Size: int64(len(files[p]))})
		}
	}
	list.Read = func(p string) ([]byte, error) {
		content, ok := files[p]
		if !ok {
			return nil, fmt.Errorf("there is no file %q", p)
		}
		return []byte(content), nil
	}
	return list, nil
}

// Contains implements [deliver.Repositories]: all commits but one are on their branch.
func (r repos) Contains(_ context.Context, _ schedule.Location, commit string) (bool, error) {
	return commit != strings.Repeat("f", 40), nil
}

// Fork implements [deliver.Repositories].
func (r repos) Fork(context.Context, schedule.Location, string, string) (string, error) {
	return "", nil
}

// Resolve implements [deliver.Repositories].
func (r repos) Resolve(_, url string) (string, error) { return url, nil }

// publish writes a draft to its GitOps branch.
func (r repos) publish(d *deliver.Draft) {
	key := d.GitOps.Location.Repo + " " + d.GitOps.Location.Branch
	if r[key] == nil {
		r[key] = map[string]string{}
	}
	for _, c := range d.Changes() {
		if c.Content == nil {
			delete(r[key], c.Path)
			continue
		}
		r[key][c.Path] = string(c.Content)
	}
}

// localCharts are charts without dependencies.
type localCharts struct{}

var _ deliver.Charts = localCharts{}

// Local implements [deliver.Charts].
func (localCharts) Local(_ context.Context, files []chart.File, folder string) (*deliver.Chart, error) {
	c := &deliver.Chart{Name: "shop", Version: "0.1.0", Digest: chart.Digest(files)}
	for _, f := range files {
		if below, ok := strings.CutPrefix(f.Path, folder+"/"); ok {
			c.Files = append(c.Files, chart.File{Path: below, Content: f.Content, Symlink: f.Symlink})
		}
	}
	return c, nil
}

// Fetch implements [deliver.Charts]. It returns a chart with one config map.
func (localCharts) Fetch(_ context.Context, ref app.Chart) (*deliver.Chart, error) {
	return &deliver.Chart{
		Name: ref.Name, Version: ref.Version, Digest: "sha256:1234",
		Files: []chart.File{
			{Path: "Chart.yaml", Content: []byte("apiVersion: v2\nname: " + ref.Name + "\nversion: " + ref.Version + "\n")},
			{Path: "templates/map.yaml", Content: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {version: {{ .Chart.Version | quote }}}\n")},
		},
	}, nil
}

// Versions implements [deliver.Charts].
func (localCharts) Versions(context.Context, app.Chart) ([]string, error) {
	return []string{"2.0.0", "1.3.0", "1.2.3"}, nil
}

const shopManifest = `apiVersion: apps/v1
kind: Deployment
metadata: {name: shop-NUMBER}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: shop}}
  template:
    metadata:
      labels: {app: shop, greeting: {{ .Values.greeting | quote }}}
    spec:
      containers:
        - name: shop
          image: {{ .Values.image.repository }}:{{ .Values.image.tag }}
          env:
            {{- range $name, $value := .Values.env }}
            - name: {{ $name }}
              value: {{ $value | quote }}
            {{- end }}
          resources: {limits: {cpu: 100m, memory: 64Mi}, requests: {cpu: 10m, memory: 16Mi}}
`

// shop is an application with targets in dev, named t000 and so on, and a chart with the given number of manifests.
func shop(targets int, manifests ...int) repos {
	var workload strings.Builder
	workload.WriteString("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: shop}\nspec:\n  deploymentTargets:\n")
	config := map[string]string{"values.yaml": "greeting: hi\nenv: {PLACE: here, LEVEL: info}\n"}
	for i := range targets {
		name := fmt.Sprintf("t%03d", i)
		fmt.Fprintf(&workload, "  - {name: %s, environment: dev}\n", name)
		config[path.Join("region", name, "values.yaml")] = fmt.Sprintf("replicas: %d\n", i+1)
	}
	source := map[string]string{
		"workload.yaml": workload.String(), "helm/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\n",
		"helm/values.yaml": "image: {repository: registry.example/shop, tag: none}\ngreeting: hello\n",
	}
	for i := range append(manifests, 1)[0] {
		source[fmt.Sprintf("helm/templates/m%02d.yaml", i)] = strings.ReplaceAll(shopManifest, "NUMBER", fmt.Sprint(i))
	}
	return repos{
		"https://git.example/shop main":        source,
		"https://git.example/shop-configs dev": config,
		"https://git.example/shop-gitops main": {"README.md": "manifests\n"},
	}
}
