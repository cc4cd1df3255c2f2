package main

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
)

// writeChart packs the Helm chart with the version of the release, as Helm does: https://helm.sh/docs/topics/charts/#the-chart-file-structure.
func (r *release) writeChart() error {
	folder := filepath.Join(r.root, filepath.FromSlash(r.Chart))
	entries, err := readFolder(folder)
	if err != nil {
		return err
	}
	name := filepath.Base(folder)
	version := strings.TrimPrefix(r.version, "v")
	found := false
	for i := range entries {
		if entries[i].name == "Chart.yaml" {
			found = true
			for field, value := range map[string]string{"version": version, "appVersion": r.version} {
				line := regexp.MustCompile(`(?m)^` + field + `: .*$`)
				if len(line.FindAll(entries[i].content, -1)) != 1 {
					return fmt.Errorf("%s/Chart.yaml has no line %q", r.Chart, field)
				}
				entries[i].content = line.ReplaceAll(entries[i].content, []byte(field+`: "`+value+`"`))
			}
		}
		entries[i].name = name + "/" + entries[i].name
	}
	if !found {
		return fmt.Errorf("%s has no Chart.yaml", r.Chart)
	}
	return create(r.file("%s-chart_%s.tgz", name, r.version), func(w io.Writer) error { return writeTarGz(w, entries, r.time) })
}
