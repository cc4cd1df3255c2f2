package schedule

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

// LabelProblem marks the issues that report problems.
const LabelProblem = "kalypso/problem"

// maxIssues is how many problems of an environment are reported as issues. One invalid file can cause hundreds.
const maxIssues = 20

// report opens an issue for each root error of the environment, and closes those of corrected ones. It does nothing on forges without issues.
func (r *round) report(ctx context.Context) error {
	wanted := rootErrors(r.environment, r.Bundle.Problems)
	issues, err := r.pull.Repository.FindIssues(ctx, forge.IssueFilter{State: forge.Open, Label: LabelProblem})
	if errors.Is(err, forge.ErrUnsupported) {
		return nil // pages and the plan show the problems
	}
	if err != nil {
		return fmt.Errorf("find issues: %w", err)
	}
	open := map[string]bool{}
	for _, issue := range issues {
		id := problemOf(issue.Body, r.environment)
		if id == "" {
			continue // of another environment, or opened by a user
		}
		if _, still := wanted.problems[id]; still && !open[id] {
			open[id] = true
			continue
		}
		closed := forge.Closed
		if err := r.pull.Repository.EditIssue(ctx, issue.Number, forge.IssueEdit{State: &closed}); err != nil {
			return fmt.Errorf("close issue %d: %w", issue.Number, err)
		}
		r.outcome.Did = append(r.outcome.Did, fmt.Sprintf("closed issue %d", issue.Number))
	}
	return r.openIssues(ctx, wanted, open)
}

func (r *round) openIssues(ctx context.Context, wanted rootProblems, open map[string]bool) error {
	room, ensured := maxIssues-len(open), false
	for _, id := range wanted.ids {
		if open[id] {
			continue
		}
		if room--; room < 0 {
			return nil
		}
		if !ensured {
			label := forge.Label{Name: LabelProblem, Color: "d93f0b", Description: "a problem that Kalypso found in a control plane"}
			if err := r.pull.Repository.EnsureLabel(ctx, label); err != nil {
				return fmt.Errorf("create label %q: %w", LabelProblem, err)
			}
			ensured = true
		}
		issue := issueOf(r.environment, id, wanted.problems[id], r.pull.Limits)
		opened, err := r.pull.Repository.OpenIssue(ctx, issue)
		if err != nil {
			return fmt.Errorf("open an issue: %w", err)
		}
		r.outcome.Did = append(r.outcome.Did, fmt.Sprintf("opened issue %d", opened.Number))
	}
	return nil
}

// rootProblems are problems by their ids, and the ids in the order of the problems.
type rootProblems struct {
	ids      []string
	problems map[string]fleet.Problem
}

// rootErrors returns the errors of an environment, each once even if it affects several assignments.
func rootErrors(environment string, problems []fleet.Problem) rootProblems {
	roots := rootProblems{problems: map[string]fleet.Problem{}}
	for _, p := range problems {
		if p.Severity != fleet.SeverityError {
			continue
		}
		id := problemID(environment, p)
		if _, known := roots.problems[id]; !known {
			roots.ids = append(roots.ids, id)
			roots.problems[id] = p
		}
	}
	return roots
}

// problemID identifies a problem, independent of its line.
func problemID(environment string, p fleet.Problem) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		environment, string(p.Kind), p.Object.String(), p.Position.Source, p.Position.File, p.Message,
	}, "\x00")))
	return hex.EncodeToString(sum[:8])
}

func problemMarker(environment, id string) string { return "kalypso/problem " + environment + " " + id }

// problemOf returns the ID of the problem that an environment's issue reports; empty if it reports none.
func problemOf(body, environment string) string {
	prefix := "<!-- " + problemMarker(environment, "")
	for line := range strings.Lines(body) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), prefix); ok {
			return strings.TrimSuffix(id, " -->")
		}
	}
	return ""
}

func issueOf(environment, id string, p fleet.Problem, limits forge.Limits) forge.NewIssue {
	where := ""
	if p.Position.File != "" {
		where = " (" + p.Position.String() + ")"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Kalypso found this problem in the environment `%s`:\n\n", environment)
	fmt.Fprintf(&b, "%s\n", markdown.Block("text", p.Message))
	if p.Position.File != "" {
		fmt.Fprintf(&b, "\nIn %s of %s.\n", markdown.Code(p.Position.String()), markdown.Code(p.Position.Source))
	}
	if p.Hint != "" {
		fmt.Fprintf(&b, "\nWhat to do:\n\n%s\n", markdown.Block("text", p.Hint))
	}
	b.WriteString("\nWhat depends on it stays as published. This issue is closed automatically when the problem is corrected.\n")
	return forge.NewIssue{
		Title:  forge.OneLine(markdown.Plain(environment+": "+p.Message+where), limits.Title),
		Body:   forge.Mark(b.String(), problemMarker(environment, id), limits.Body),
		Labels: []string{LabelProblem},
	}
}
