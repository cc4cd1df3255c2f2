package output

import (
	"fmt"
	"io"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// Clusters lists clusters, a row for each membership.
func (v View) Clusters(w io.Writer, clusters []query.Cluster) error {
	if len(clusters) == 0 {
		_, err := fmt.Fprintln(w, "no clusters; kalypso cluster register NAME --member ENVIRONMENT/CLUSTERTYPE adds one")
		return err
	}
	s := v.style
	var t terminal.Table
	t.Row(s.Heads("CLUSTER", "HEARD", "MEMBER OF", "STATE", "LABELS")...)
	for _, one := range clusters {
		heard := terminal.Plain(v.ago(one.LastHeard))
		if one.Offline {
			heard = terminal.Painted(s.Red, heard.Text)
		}
		first := []terminal.Cell{terminal.Plain(one.Name), heard}
		for i, m := range one.Memberships {
			if i > 0 {
				first = []terminal.Cell{terminal.Plain(""), terminal.Plain("")}
			}
			row := append(first, terminal.Plain(m.Environment+"/"+m.ClusterType), standingCell(s, m.State))
			if i == 0 {
				row = append(row, terminal.Painted(s.Dim, terminal.Labels(one.Labels)))
			}
			t.Row(row...)
		}
		if len(one.Memberships) == 0 {
			t.Row(append(first, terminal.Painted(s.Dim, unregistered(one)), terminal.Plain(""), terminal.Painted(s.Dim, terminal.Labels(one.Labels)))...)
		}
	}
	return t.Write(w)
}

// unregistered says why a cluster is a member of nothing.
func unregistered(c query.Cluster) string {
	switch {
	case c.Revoked:
		return "revoked"
	case !c.Registered:
		return "unknown"
	}
	return "-"
}
