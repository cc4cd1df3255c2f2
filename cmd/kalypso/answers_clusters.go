package main

import (
	"fmt"
	"io"

	"github.com/kalypso-io/kalypso/internal/observing"
)

// clusters lists clusters, a row for each membership.
func (v view) clusters(w io.Writer, clusters []observing.Cluster) error {
	if len(clusters) == 0 {
		_, err := fmt.Fprintln(w, "no clusters; kalypso cluster register NAME --member ENVIRONMENT/CLUSTERTYPE adds one")
		return err
	}
	s := v.style
	var t table
	t.row(s.heads("CLUSTER", "HEARD", "MEMBER OF", "STATE", "LABELS")...)
	for _, one := range clusters {
		heard := plain(v.ago(one.LastHeard))
		if one.Offline {
			heard = painted(s.red, heard.text)
		}
		first := []cell{plain(one.Name), heard}
		for i, m := range one.Memberships {
			if i > 0 {
				first = []cell{plain(""), plain("")}
			}
			row := append(first, plain(m.Environment+"/"+m.ClusterType), s.standing(m.State))
			if i == 0 {
				row = append(row, painted(s.dim, labels(one.Labels)))
			}
			t.row(row...)
		}
		if len(one.Memberships) == 0 {
			t.row(append(first, painted(s.dim, unregistered(one)), plain(""), painted(s.dim, labels(one.Labels)))...)
		}
	}
	return t.write(w)
}

// unregistered says why a cluster is a member of nothing.
func unregistered(c observing.Cluster) string {
	switch {
	case c.Revoked:
		return "revoked"
	case !c.Registered:
		return "unknown"
	}
	return "-"
}
