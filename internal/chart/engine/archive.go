package engine

import (
	"fmt"
	"path"
	"strings"

	"github.com/kalypso-io/kalypso/internal/chart"
)

// unpacked replaces the archives in folders named charts by their files, at any depth.
// Their total is within the limits of one chart.
func unpacked(files []chart.File) ([]chart.File, error) {
	for range maxCharts {
		var expanded []chart.File
		size, archives := 0, 0
		for _, f := range files {
			if !isArchive(f.Path) {
				expanded = append(expanded, f)
				size += len(f.Content)
				continue
			}
			archives++
			inside, err := chart.Unpack(f.Content)
			if err != nil {
				return nil, fmt.Errorf("unpack %q: %w", f.Path, err)
			}
			for _, in := range inside {
				expanded = append(expanded, chart.File{Path: strings.TrimSuffix(f.Path, ".tgz") + "/" + in.Path, Content: in.Content})
				size += len(in.Content)
			}
			if size > chart.MaxSize || len(expanded) > chart.MaxFiles {
				break // refused below
			}
		}
		if archives == 0 {
			return files, nil
		}
		var err error
		if files, err = chart.Checked(expanded); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("charts depend on each other more than %d levels deep", maxCharts)
}

// isArchive reports whether a file is a chart that another one depends on.
func isArchive(p string) bool {
	return path.Ext(p) == ".tgz" && path.Base(path.Dir(p)) == "charts"
}
