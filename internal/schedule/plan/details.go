package plan

import (
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
)

// addDetails adds the configuration keys and namespaces of the assignments that change.
func (p *Plan) addDetails() error {
	d := details{before: p.before, after: p.after, folders: byClusterType(p.after.Folders), data: map[string]map[string]string{}}
	for i := range p.Assignments {
		if c := &p.Assignments[i]; c.Op == Changed {
			if err := d.add(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// details parses the contents of files that differ.
type details struct {
	before, after State
	// folders are the folders after the change, by cluster type.
	folders map[string]*bundle.Folder
	// data caches the parsed data of configurations by their text, because many assignments share one.
	data map[string]map[string]string
}

// add parses the two kinds of files for which reviewers need more than the fact that they differ: configurations, for
// what changes for the application, and namespaces, whose removal deletes everything in them.
func (d *details) add(c *Change) error {
	for _, f := range c.Files {
		isConfig := bundle.IsConfig(f.Path)
		isNamespace := strings.HasSuffix(f.Path, "/namespace.yaml")
		if !isConfig && !isNamespace {
			continue
		}
		old, err := d.before.content(f.before)
		if err != nil {
			return err
		}
		now, err := d.after.content(f.after)
		if err != nil {
			return err
		}
		if isNamespace {
			c.Gone = append(c.Gone, lostNamespaces(old, now)...)
		}
		if isConfig {
			c.Config = append(c.Config, d.configChanges(old, now, d.composed(c))...)
		}
	}
	slices.SortFunc(c.Config, func(a, b ConfigChange) int { return strings.Compare(a.Key, b.Key) })
	c.Config = mergeRenamed(c.Config)
	return nil
}

// composed returns the configuration of the assignment after the change.
func (d *details) composed(c *Change) *config.Composed {
	if a, ok := d.folders[c.ClusterType].Assignment(c.Target); ok {
		return a.Config
	}
	return nil
}
