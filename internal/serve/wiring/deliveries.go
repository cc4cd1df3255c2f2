package wiring

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/check/scan/folder"
	"github.com/kalypso-io/kalypso/internal/check/scanner"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/plane"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// deliveries delivers the registered applications, and tells clients.
type deliveries struct {
	flows  *Flows
	events *api.Events
}

var _ serve.Deliveries = (*deliveries)(nil)

// wireDeliveries wires the delivery of applications. The end of a scan wakes the keeper.
func (s *Server) wireDeliveries() error {
	applications, scans, err := newApplications(s.Config, s.Flows, s.Keeper)
	if err != nil {
		return err
	}
	s.onClose(scans.Close)
	if applications.Publisher != nil {
		applications.Publisher.Version = s.Version
	}
	s.Flows.applications = applications
	d := &deliveries{s.Flows, s.chains.events}
	s.Keeper.Deliveries, s.API.Observer.Histories, s.API.RehearseApplication = d, newHistories(s.Flows), d.rehearse
	return nil
}

// newApplications returns what the delivery of applications reaches. Close the scanner.
func newApplications(
	config *serve.Config, flows *Flows, keeper *serve.Keeper) (*plane.Applications, *scanner.Scanner, error,
) {
	cache, err := remote.NewCache(filepath.Join(config.Data, "charts"), 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open the chart cache: %w", err)
	}
	charts := &remote.Client{
		Cache: cache, HTTP: (&verify.Runner{Hosts: config.Verify.Hosts}).Client(),
		Credential: remote.EnvironmentCredential(flows.Client.Env), PlainHTTP: remote.OnThisMachine,
	}
	a := &plane.Applications{
		Charts: charts, Renderer: flows.charts(), Memory: &deliver.Memory{}, Link: pageLinks(config.URL).workload,
		Waits: plane.Waits{Wake: keeper.Deliver},
	}
	scans, err := newScanner(config.Data, config.Verify.Programs, charts, charts, a.Waits.Changed)
	if err != nil {
		return nil, nil, err
	}
	a.Scanner = scans
	a.Images = &repository.Images{Registry: charts, Changed: a.Waits.Changed}
	a.Publisher, err = newPublisher(config.Publish, flows.Client.Env)
	return a, scans, err
}

// newScanner returns the scanner of a server. programs are those that the configuration allows. Results are stored in
// the data folder. Close it.
func newScanner(
	data string, programs []string, images scanner.Images, signatures scanner.Signatures,
	changed func()) (*scanner.Scanner, error,
) {
	records, err := folder.New(filepath.Join(data, "scans"))
	if err != nil {
		return nil, err
	}
	return &scanner.Scanner{
		Store: records, Programs: &verify.Runner{Programs: programs}, Images: images, Signatures: signatures,
		Changed: changed,
	}, nil
}

// Registered returns the applications of a control plane.
func (d *deliveries) Registered(ctx context.Context, controlPlane string) (*serve.Registered, error) {
	subjects, problems, err := d.flows.plane(controlPlane).Register(ctx)
	if err != nil {
		return nil, err
	}
	registered := &serve.Registered{Applications: subjects}
	for _, p := range problems {
		registered.Problems = append(registered.Problems, p.Position.String()+": "+p.Message)
	}
	return registered, nil
}

// Deliver runs a round of all environments of an application, and of its chain.
func (d *deliveries) Deliver(ctx context.Context, controlPlane, application string) (*serve.Delivered, error) {
	delivery, err := d.flows.plane(controlPlane).Deliver(ctx, application)
	return d.delivered(ctx, delivery, err)
}

// Follow runs a round of the chain only.
func (d *deliveries) Follow(ctx context.Context, controlPlane, application string) (*serve.Delivered, error) {
	delivery, err := d.flows.plane(controlPlane).Follow(ctx, application)
	return d.delivered(ctx, delivery, err)
}

// rehearse returns what commands would do to an application.
func (d *deliveries) rehearse(
	ctx context.Context, controlPlane, application string, commands ...ledger.Step,
) (*deliver.Rehearsed, error) {
	return d.flows.plane(controlPlane).RehearseApplication(ctx, application, commands...)
}

// delivered tells clients and other replicas of a round.
func (d *deliveries) delivered(ctx context.Context, delivery *plane.Delivery, err error) (*serve.Delivered, error) {
	if delivery == nil || delivery.Now == nil {
		return nil, err
	}
	now, found := delivery.Now, delivery.Found
	if !now.Same(delivery.Was) {
		d.events.Publish(api.Signal{
			Type: api.SignalApplication, ControlPlane: now.ControlPlane, Application: now.Name, Commit: now.Source.Commit,
		})
	}
	jobs := d.flows.promotion.Promoter.OpenJobs(now.Subject)
	if stored := d.flows.results.putApplication(ctx, now, jobs); stored != nil && ctx.Err() == nil {
		err = errors.Join(err, stored)
	}
	result := &serve.Delivered{
		Application: now, Did: slices.Concat(found.Did, delivery.Did), Read: found.Read(), Again: found.Next(),
	}
	for _, environment := range slices.Sorted(maps.Keys(found.Errors)) {
		if !errors.Is(found.Errors[environment], query.ErrNotRead) {
			result.Problems = append(result.Problems, fmt.Sprintf("environment %q: %v", environment, found.Errors[environment]))
		}
	}
	result.Problems = append(result.Problems, delivery.Problems...)
	if found.Promotion != nil {
		result.Next = found.Promotion.Next
	}
	return result, err
}
