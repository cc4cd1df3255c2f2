package repository

import (
	"context"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/deliver"
)

// Charts fetches charts for the delivery flow.
type Charts struct{ Client *remote.Client }

var _ deliver.Charts = Charts{}

// Local adds the dependencies of a chart in a repository's folder.
func (c Charts) Local(ctx context.Context, files []chart.File, folder string) (*deliver.Chart, error) {
	return fetched(c.Client.Local(ctx, files, folder))
}

// Fetch fetches a chart from a chart repository.
func (c Charts) Fetch(ctx context.Context, ref app.Chart) (*deliver.Chart, error) {
	return fetched(c.Client.Fetch(ctx, ref))
}

// Versions returns the versions of a chart, newest first.
func (c Charts) Versions(ctx context.Context, ref app.Chart) ([]string, error) {
	return c.Client.Versions(ctx, ref)
}

func fetched(f *remote.Fetched, err error) (*deliver.Chart, error) {
	if err != nil {
		return nil, err
	}
	return &deliver.Chart{Files: f.Files, Name: f.Name, Version: f.Version, Digest: f.Digest, Notices: f.Notices}, nil
}
