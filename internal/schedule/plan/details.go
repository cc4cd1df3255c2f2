package plan

import (
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
	"github.com/kalypso-io/kalypso/internal/schedule/render"
)

// maxRemoved is how many removed assignments list their objects.
const maxRemoved = 1000

// addDetails adds the configuration keys of the assignments that change, and the objects that clusters delete.
func (p *Plan) addDetails() error {
	d := details{environment: p.Environment, before: p.before, after: p.after, folders: byName(p.after.Folders), data: map[string]map[string]string{}, keys: map[*config.Composed][]config.Key{}}
	removed := 0
	for i := range p.Assignments {
		c := &p.Assignments[i]
		if c.Op == Removed {
			removed++
		}
		if c.Op == Changed || c.Op == Added || c.Op == Removed && removed <= maxRemoved {
			if err := d.add(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// details parses the contents of files that differ.
type details struct {
	environment   string
	before, after State
	// folders are the folders after the change, by name.
	folders map[string]*bundle.Folder
	// data caches the parsed data of configurations by their text, because many assignments share one.
	data map[string]map[string]string
	// keys caches the keys of configurations.
	keys map[*config.Composed][]config.Key
}

// add parses what reviewers need more of than the fact that it differs: configurations, for what changes for the
// application, and objects that are no longer written, because clusters delete them.
func (d *details) add(c *Change) error {
	var was, is [][]byte
	for _, f := range c.Files {
		old, err := d.before.content(f.before)
		if err != nil {
			return err
		}
		now, err := d.after.content(f.after)
		if err != nil {
			return err
		}
		if strings.HasSuffix(f.Path, ".yaml") {
			was, is = append(was, old), append(is, now)
		}
		c.addSources(f.Path, old, now)
		if c.Op == Changed && bundle.IsConfig(f.Path) {
			c.Config = append(c.Config, d.configChanges(old, now, d.composed(c))...)
		}
	}
	switch namespace := render.Namespace(d.environment, c.ClusterType, c.Target); c.Op {
	case Removed:
		c.MayStay = slices.DeleteFunc(roles(was), func(r Role) bool { return r.Namespace == namespace })
	default:
		c.addRights(was, is, namespace)
	}
	if c.Op == Added {
		return nil
	}
	c.Gone = lostObjects(was, is)
	before, after := handedOver(was), handedOver(is)
	c.HandedOver = slices.DeleteFunc(after, func(o Object) bool { return slices.Contains(before, o) })
	if c.Op == Changed {
		isRetired := func(o Object) bool { return slices.Contains(before, o) }
		c.Retired = slices.DeleteFunc(slices.Clone(c.Gone), func(o Object) bool { return !isRetired(o) })
		c.Gone = slices.DeleteFunc(c.Gone, isRetired)
	}
	slices.SortFunc(c.Config, func(a, b ConfigChange) int { return strings.Compare(a.Key, b.Key) })
	c.Config = mergeRenamed(c.Config)
	return nil
}

// handedOver returns the objects in texts that have been handed over.
func handedOver(texts [][]byte) []Object {
	var all []Object
	for _, text := range texts {
		all = append(all, bundle.HandedOverObjects(text)...)
	}
	return all
}

// composed returns the configuration of the assignment after the change.
func (d *details) composed(c *Change) *config.Composed {
	if a, ok := d.folders[c.Folder()].Assignment(c.Target); ok {
		return a.Config
	}
	return nil
}
