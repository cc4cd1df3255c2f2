package output

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// Rehearsal prints what a command would do.
func (v Printer) Rehearsal(w io.Writer, a api.Accepted) error {
	r := a.Rehearsal
	if len(r.Effects) == 0 {
		fmt.Fprintln(w, "the command would change nothing at present")
	} else {
		var t terminal.Table
		t.Row(v.style.Heads("PLACE", "CLUSTERS", "NOW", "THEN", "WHY")...)
		for _, e := range r.Effects {
			clusters := "-"
			if e.Clusters > 0 {
				clusters = fmt.Sprint(e.Clusters)
			}
			t.Row(terminal.Plain(e.Place), terminal.Plain(clusters), terminal.Plain(cmp.Or(terminal.Short(e.From), "-")),
				terminal.Plain(cmp.Or(terminal.Short(e.To), "-")), terminal.Plain(terminal.ShortHashes(e.Reason)))
		}
		if err := t.Write(w); err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s would get another commit in the next round\n", terminal.Count(r.Clusters, "cluster"))
	}
	for _, restarts := range r.Restarts {
		fmt.Fprintln(w, "restarts:", terminal.Printable(restarts))
	}
	if len(r.Elsewhere) > 0 {
		fmt.Fprintf(w, "the commit also runs in %s, and stays there\n", terminal.Printable(strings.Join(r.Elsewhere, ", ")))
	}
	if len(r.Targets) > 0 {
		fmt.Fprintln(w)
		if err := v.RollbackTargets(w, r.Targets); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, "\nnothing was done: leave out --dry-run to do it")
	return err
}

// RollbackTargets prints the commits to go back to, and why others are not offered.
func (v Printer) RollbackTargets(w io.Writer, targets []decide.RollbackTarget) error {
	if len(targets) == 0 {
		_, err := fmt.Fprintln(w, "no earlier commit is known; a server knows them after its first round")
		return err
	}
	var t terminal.Table
	t.Row(v.style.Heads("COMMIT", "GO BACK", "WHY")...)
	for _, target := range targets {
		offered := terminal.Painted(v.style.Red, "no")
		if target.Good {
			offered = terminal.Painted(v.style.Green, "yes")
		}
		t.Row(terminal.Plain(terminal.Short(target.Commit)), offered, terminal.Plain(terminal.ShortHashes(target.Why)))
	}
	return t.Write(w)
}
