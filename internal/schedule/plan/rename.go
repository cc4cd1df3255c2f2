package plan

import (
	"crypto/sha256"
	"fmt"
	"path"
	"strings"
)

// Pair names an assignment.
type Pair struct {
	ClusterType string `json:"clusterType"`
	Target      string `json:"target"`
	// Title is the display name of the target.
	Title string `json:"title"`
}

// Renamed describes the renaming of which the assignment is a part: "renamed to app/t2". Empty if it is not renamed.
func (c *Change) Renamed() string {
	direction, other := "to", c.RenamedTo
	if other == nil {
		direction, other = "from", c.RenamedFrom
	}
	switch {
	case other == nil:
		return ""
	case other.ClusterType != c.ClusterType:
		return fmt.Sprintf("cluster type renamed %s %s", direction, other.ClusterType)
	}
	return fmt.Sprintf("renamed %s %s", direction, other.Title)
}

// addRenames links each removed assignment with the added one that has the same content apart from the name of the target or the
// cluster type, if there is exactly one.
func (p *Plan) addRenames() error {
	type key struct {
		same    string // the cluster type or the target that stays, and whether the short name counts
		content [sha256.Size]byte
	}
	if p.Counts.Added == 0 || p.Counts.Removed == 0 || max(p.Counts.Added, p.Counts.Removed) > maxRemoved {
		return nil
	}
	added, removed := map[key][]*Change{}, map[key][]*Change{}
	var order []key
	for i := range p.Assignments {
		c := &p.Assignments[i]
		if c.Cluster != "" {
			continue // its folder has what its type has
		}
		changes, state := added, p.after
		switch c.Op {
		case Added:
		case Removed:
			changes, state = removed, p.before
		default:
			continue
		}
		sames := []string{"cluster type " + c.ClusterType, "target " + c.Target}
		switch c.Cause { // what is still there has not been renamed
		case NoTarget:
			sames = sames[:1]
		case NoClusterType:
			sames = sames[1:]
		case NoPolicy, Rules, NoCluster:
			continue
		}
		for _, short := range []bool{false, true} { // paths can contain the short name, and can stay
			content, err := c.nameless(state, short)
			if err != nil {
				return err
			}
			for _, same := range sames {
				k := key{fmt.Sprint(same, short), content}
				changes[k] = append(changes[k], c)
				order = append(order, k)
			}
		}
	}
	for _, k := range order {
		was, is := removed[k], added[k]
		if len(was) == 1 && len(is) == 1 && was[0].RenamedTo == nil && is[0].RenamedFrom == nil {
			was[0].RenamedTo = &Pair{is[0].ClusterType, is[0].Target, is[0].Title}
			is[0].RenamedFrom = &Pair{was[0].ClusterType, was[0].Target, was[0].Title}
		}
	}
	return nil
}

// nameless returns a hash of the files of a change in a state, without the names of the assignment and, as an
// option, without the short name of the target.
func (c *Change) nameless(state State, withoutShort bool) (sum [sha256.Size]byte, err error) {
	names := []string{c.Target, "{target}", c.Title, "{target}", c.ClusterType, "{clusterType}"}
	if _, short, ok := strings.Cut(c.Title, "/"); ok && withoutShort {
		names = append(names, short, "{short}")
	}
	replace := strings.NewReplacer(names...)
	hash := sha256.New()
	for _, f := range c.Files {
		file := f.after
		if c.Op == Removed {
			file = f.before
		}
		content, err := state.content(file)
		if err != nil {
			return sum, err
		}
		fmt.Fprintf(hash, "%s\x00", path.Base(f.Path))
		if _, err := replace.WriteString(hash, string(content)); err != nil {
			return sum, err
		}
		fmt.Fprint(hash, "\x00")
	}
	return [sha256.Size]byte(hash.Sum(nil)), nil
}
