// Package charttest renders charts of tests in the test's own process.
package charttest

import (
	"context"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/engine"
)

// InProcess renders in this process. Programs render in a process with limits instead: see package sandbox.
type InProcess struct{}

// Render renders the targets of a job that are not in an earlier result.
func (InProcess) Render(ctx context.Context, job *chart.Job, previous *chart.Result) (*chart.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return engine.Run(job, previous), nil
}

// Run renders the targets of a job that are not in an earlier result, which can be nil.
func Run(job *chart.Job, previous *chart.Result) *chart.Result { return engine.Run(job, previous) }
