package deliver

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// checkFlags returns an error if the request sets values, and nothing that is rendered takes any.
func (a *Application) checkFlags() error {
	r, spec := a.Request, a.Delivery.Spec
	if spec.Kustomization == "" && spec.Manifests == "" {
		return nil
	}
	form := "a kustomization"
	if spec.Manifests != "" {
		form = "plain manifests"
	}
	for _, image := range spec.Images {
		if a.imagesWritten && image.Repository+image.Tag+image.Digest+image.Version != "" {
			return fmt.Errorf("spec.images of the Delivery sets values of a chart for the image %q, and %s has none; write only its name", image.Name, form)
		}
	}
	switch {
	case len(r.Set)+len(r.SetString) > 0:
		return fmt.Errorf("values are set (%s), and the application is %s, which has none", strings.Join(slices.Concat(r.Set, r.SetString), ", "), form)
	case len(r.Vars) > 0:
		return fmt.Errorf("variables are set (%s), and the application is %s, which has no values that can refer to them", strings.Join(slices.Sorted(maps.Keys(r.Vars)), ", "), form)
	}
	return nil
}

// checkUse returns an error if no target uses a variable or a value of the request, because it is probably misspelled. Values that the chart
// has, and that change nothing, such as those of a part that is switched off, are a warning. Targets that could not be rendered could use
// anything.
func (w *work) checkUse(results []*chart.Result, lenient bool) error {
	if len(w.problems) > 0 {
		return nil
	}
	targets := 0
	vars, idle, unknown := map[string]bool{}, map[string]int{}, map[string]int{}
	for _, result := range results {
		for _, t := range result.Targets {
			if t.Manifests == nil {
				return nil
			}
			targets++
			for _, name := range t.Vars {
				vars[name] = true
			}
			for _, value := range t.Idle {
				if idle[value.Path]++; value.Unknown {
					unknown[value.Path]++
				}
			}
		}
	}
	if targets == 0 {
		return nil
	}
	const misspelled = "correct its name, or leave it out"
	for _, name := range slices.Sorted(maps.Keys(w.app.Request.Vars)) {
		if vars[name] {
			continue
		}
		if err := w.notUsed(lenient, misspelled, "the variable %s is set, and no value in %s refers to it as $%[1]s", name, w.environment); err != nil {
			return err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(idle)) {
		var err error
		switch {
		case unknown[path] == targets:
			err = w.notUsed(lenient, misspelled, "the value %q is set, and the chart does not have it: no manifest in %s changes", path, w.environment)
		case idle[path] == targets:
			err = w.notUsed(true, "leave it out, or switch on the part of the chart that uses it", "the value %q that was set changes no manifest in %s", path, w.environment)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// notUsed reports something that was set and is not used, as a warning or as an error.
func (w *work) notUsed(lenient bool, hint, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	if !lenient {
		return errors.New(message + "; " + hint)
	}
	w.others = append(w.others, fleet.Problem{
		Severity: fleet.SeverityWarning, Kind: fleet.KindInvalidValue, Object: fleet.Ref{Kind: "Workload", Name: w.app.Workload.Name}, Message: message, Hint: hint,
	})
	return nil
}
