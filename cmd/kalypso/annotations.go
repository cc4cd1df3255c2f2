package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// writeAnnotations shows problems as workflow commands, which GitHub attaches to the lines of a pull request.
// See https://docs.github.com/actions/reference/workflow-commands-for-github-actions.
func writeAnnotations(w io.Writer, problems []found) error {
	for _, p := range problems {
		var properties []string
		property := func(name, value string) {
			if value != "" {
				properties = append(properties, name+"="+annotationProperty.Replace(value))
			}
		}
		message := output.Message(p.Problem)
		if output.IsOtherRepository(p.Position.Source) {
			// An annotation can only be attached to a file of the repository that the run is about.
			message = output.WithPosition(message, p.Position)
		} else {
			property("file", p.Position.File)
			if p.Position.Line > 0 {
				property("line", fmt.Sprint(p.Position.Line))
			}
		}
		property("title", string(p.Kind))
		if p.Hint != "" {
			message += "\n" + p.Hint
		}
		if _, err := fmt.Fprintf(w, "::%s %s::%s\n", p.Severity, strings.Join(properties, ","), annotationText.Replace(message)); err != nil {
			return err
		}
	}
	return nil
}

var (
	annotationText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	annotationProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// The parts of the Static Analysis Results Interchange Format 2.1.0 that problems need.
type (
	sarifLog struct {
		Version string     `json:"version"`
		Schema  string     `json:"$schema"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID string `json:"id"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
)

func writeSARIF(w io.Writer, problems []found) error {
	run := sarifRun{
		Tool:    sarifTool{Driver: sarifDriver{Name: "kalypso", Version: cli.Version(), Rules: []sarifRule{}}},
		Results: []sarifResult{},
	}
	for _, p := range problems {
		run.Results = append(run.Results, sarifOf(p.Problem))
		rule := sarifRule{ID: string(p.Kind)}
		if !slices.Contains(run.Tool.Driver.Rules, rule) {
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, rule)
		}
	}
	return cli.WriteJSON(w, sarifLog{
		Version: "2.1.0",
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Runs:    []sarifRun{run},
	})
}

func sarifOf(p fleet.Problem) sarifResult {
	r := sarifResult{RuleID: string(p.Kind), Level: string(p.Severity), Message: sarifMessage{Text: output.Message(p)}}
	if p.Severity == fleet.SeverityNotice {
		r.Level = "note"
	}
	if p.Hint != "" {
		r.Message.Text += "\n" + p.Hint
	}
	if p.Position.File != "" {
		at := sarifPhysical{Artifact: sarifArtifact{URI: p.Position.File}}
		if p.Position.Line > 0 {
			at.Region = &sarifRegion{StartLine: p.Position.Line}
		}
		r.Locations = []sarifLocation{{Physical: at}}
	}
	return r
}
