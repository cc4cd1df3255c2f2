package fleet

import "fmt"

// Chart is the folder of a template's Helm chart in the control plane.
type Chart struct {
	// Files have paths relative to the folder.
	Files []ChartFile
	// ID identifies the files: equal ids mean equal files.
	ID string
	// Err means that the folder could not be read.
	Err error
}

// ChartFile is a file of a chart.
type ChartFile struct {
	Path    string
	Content []byte
	// Symlink marks a symbolic link, which is not followed.
	Symlink bool
}

// ChartTemplates returns the templates of an environment that name a chart, by their branch.
// One on the environment branch counts only if main has none with the same name.
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

// charts adds the chart files to templates. A template whose chart cannot be read is unreadable.
func (a *assembly) charts(templates []*Template) []*Template {
	var usable []*Template
	for _, t := range templates {
		if t.Chart == "" {
			usable = append(usable, t)
			continue
		}
		c, requested := a.Inputs.Charts[t.Name]
		if c.Err == nil && (!requested || len(c.Files) == 0) {
			c.Err = fmt.Errorf("folder %q not found", t.Chart)
		}
		if c.Err != nil {
			a.problem(SeverityError, KindUnreachable, t, "name the folder of a chart below the path of the control plane", "read the chart %q: %v", t.Chart, c.Err)
			a.lose(t, Owner{})
			continue
		}
		placed := *t
		placed.ChartFiles = c.Files
		placed.Digest = t.Digest.with([]string{c.ID})
		usable = append(usable, &placed)
	}
	return usable
}
