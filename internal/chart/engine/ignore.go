package engine

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/ignore"

	"github.com/kalypso-io/kalypso/internal/chart"
)

// withoutIgnored removes the files that .helmignore lists, like Helm does for a chart in a folder.
func withoutIgnored(files []chart.File) ([]chart.File, error) {
	rules := ignore.Empty()
	for _, f := range files {
		if f.Path == ignore.HelmIgnore {
			parsed, err := ignore.Parse(bytes.NewReader(f.Content))
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", ignore.HelmIgnore, err)
			}
			rules = parsed
		}
	}
	rules.AddDefaults()
	kept := make([]chart.File, 0, len(files))
	for _, f := range files {
		if !ignored(rules, f.Path) {
			kept = append(kept, f)
		}
	}
	return kept, nil
}

// ignored reports whether rules exclude a file, or one of its folders.
func ignored(rules *ignore.Rules, file string) bool {
	for i := range len(file) {
		if file[i] == '/' && rules.Ignore(file[:i], entry{file[:i], true}) {
			return true
		}
	}
	return !strings.HasSuffix(file, "/") && rules.Ignore(file, entry{file, false})
}

// entry describes a path to the rules, which only check whether it is a folder.
type entry struct {
	path   string
	folder bool
}

func (e entry) Name() string       { return path.Base(e.path) }
func (e entry) Size() int64        { return 0 }
func (e entry) ModTime() time.Time { return time.Time{} }
func (e entry) IsDir() bool        { return e.folder }
func (e entry) Sys() any           { return nil }
func (e entry) Mode() fs.FileMode {
	if e.folder {
		return fs.ModeDir
	}
	return 0
}
