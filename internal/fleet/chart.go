package fleet

import "fmt"

// Chart is a folder of a Helm chart in the control plane, which a template is rendered from.
type Chart struct {
	// Files are those in the folder, their paths relative to it.
	Files []ChartFile
	// ID identifies the files: equal ids mean equal files.
	ID string
	// Err is why the folder could not be read.
	Err error
}

// ChartFile is a file of a chart.
type ChartFile struct {
	Path    string
	Content []byte
	// Symlink marks a symbolic link, which is not followed.
	Symlink bool
}

// ChartTemplates returns the templates that count in an environment and name a chart: those of main, and those of the
// environment branch that main has none of the same name for.
func ChartTemplates(main, branch *Objects) (ofMain, ofBranch []*Template) {
	for _, t := range override(main, main.Templates, branch.Templates) {
		switch {
		case t.Chart == "":
		case t.Position.Source == main.Source.Name:
			ofMain = append(ofMain, t)
		default:
			ofBranch = append(ofBranch, t)
		}
	}
	return ofMain, ofBranch
}

// charts gives templates the files of their charts. One whose chart cannot be read is lost.
func (a *assembly) charts(templates []*Template) []*Template {
	var usable []*Template
	for _, t := range templates {
		if t.Chart == "" {
			usable = append(usable, t)
			continue
		}
		c, asked := a.Inputs.Charts[t.Name]
		if c.Err == nil && (!asked || len(c.Files) == 0) {
			c.Err = fmt.Errorf("there is no folder %q", t.Chart)
		}
		if c.Err != nil {
			a.problem(SeverityError, KindUnreachable, t, "name the folder of a chart below the path of the control plane", "read the chart %q: %v", t.Chart, c.Err)
			a.lose(t)
			continue
		}
		placed := *t
		placed.ChartFiles = c.Files
		placed.Digest = t.Digest.with([]string{c.ID})
		usable = append(usable, &placed)
	}
	return usable
}
