package tenant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
	"github.com/kalypso-io/kalypso/internal/check/scan/folder"
	"github.com/kalypso-io/kalypso/internal/check/scanner"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/operator"
	"github.com/kalypso-io/kalypso/internal/plane"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/repository"
)

// Deliver implements [operator.Tenant].
func (t *Tenant) Deliver(ctx context.Context) (operator.Deliveries, error) {
	var result operator.Deliveries
	end, err := t.begin()
	if err != nil {
		return result, err
	}
	defer end()
	if t.promotion.plane == nil {
		return result, fmt.Errorf("%w: it is not open", operator.ErrLedger)
	}
	if err := t.openApplications(); err != nil {
		return result, err
	}
	p := t.plane()
	if err := t.allRead(); err != nil {
		return result, err
	}
	subjects, problems, err := p.Register(ctx)
	if err != nil {
		return result, err
	}
	for _, problem := range problems {
		result.Problems = append(result.Problems, problem.Position.String()+": "+problem.Message)
	}
	for _, subject := range t.inTurn(subjects) {
		if ctx.Err() != nil {
			result.Left++
		} else {
			t.deliver(ctx, p, subject, &result)
		}
	}
	result.Applications = t.states(subjects, result.Applications)
	return result, nil
}

// inTurn returns the applications in the order of their turns: those that had none, and then the one whose turn is
// longest ago.
func (t *Tenant) inTurn(subjects []string) []string {
	was := t.turns
	t.turns = map[string]time.Time{}
	for _, subject := range subjects {
		t.turns[subject] = was[subject]
	}
	turns := slices.Clone(subjects)
	slices.SortStableFunc(turns, func(a, b string) int { return t.turns[a].Compare(t.turns[b]) })
	return turns
}

// deliver runs a round of an application, and adds what it did. Its problems become the error of its state.
func (t *Tenant) deliver(ctx context.Context, p *plane.Plane, subject string, result *operator.Deliveries) {
	t.turns[subject] = time.Now()
	workload, _ := deliver.WorkloadOf(subject)
	done, _ := p.Deliver(ctx, subject) // the state has the error
	if done == nil {                   // time ended before its turn
		result.Left++
		return
	}
	for _, what := range slices.Concat(done.Found.Did, done.Did) { // even if time ended: it is done
		result.Did = append(result.Did, workload+": "+what)
	}
	if done.Now == nil {
		result.Left++
		return
	}
	if done.Found.Promotion != nil {
		result.Wake(done.Found.Promotion.Next)
	}
	result.Wake(done.Found.Next())
	now := *done.Now
	now.Error = cmp.Or(now.Error, strings.Join(done.Problems, "; "))
	result.Applications = append(result.Applications, &now)
}

// states adds the last states of the applications that had no turn.
func (t *Tenant) states(subjects []string, all []*query.Application) []*query.Application {
	for _, cp := range t.board.ControlPlanes() {
		for _, last := range cp.Applications {
			had := slices.ContainsFunc(all, func(a *query.Application) bool { return a.Subject == last.Subject })
			if !had && slices.Contains(subjects, last.Subject) {
				all = append(all, last)
			}
		}
	}
	return all
}

// maxCharts is the size of the cache of a control plane's charts, in bytes.
const maxCharts = 64 << 20

// openApplications opens what the delivery of applications reaches.
func (t *Tenant) openApplications() error {
	cache, err := remote.NewCache(filepath.Join(t.folder, "charts"), maxCharts) // the folder may have been emptied
	if err != nil {
		return errors.New("the cache of charts cannot be opened")
	}
	// Applications name the addresses of charts and images. No credential goes there.
	charts := &remote.Client{Cache: cache, HTTP: (&verify.Runner{Hosts: t.verifyHosts}).Client(), PlainHTTP: remote.OnThisMachine}
	records, err := folder.New(filepath.Join(t.folder, "scans"))
	if err != nil {
		return errors.New("the folder of scans cannot be opened")
	}
	if t.applications != nil {
		t.applications.Charts = charts
		return nil
	}
	a := &plane.Applications{
		Charts: charts, Renderer: &sandbox.Runner{Pool: t.charts}, Memory: &deliver.Memory{},
		Waits: plane.Waits{Wake: func(string, string) { t.access.Wake() }},
	}
	// Signatures are checked. Programs of tenants are not run.
	t.scanner = &scanner.Scanner{
		Store: records, Programs: &verify.Runner{}, Images: charts, Signatures: charts, Changed: a.Waits.Changed,
	}
	a.Scanner, a.Images = t.scanner, &repository.Images{Registry: charts, Changed: a.Waits.Changed}
	t.applications = a
	return nil
}

// allRead returns an error until every environment was read: only then is it known which repositories are the
// platform's, and what the platform requires.
func (t *Tenant) allRead() error {
	at := t.access.Spec.Source.Repository
	for _, name := range t.board.Known(at) {
		last := t.board.Outcome(at, name)
		if last == nil || last.Loaded == nil {
			return fmt.Errorf("environment %q has not been read yet", name)
		}
		t.promotion.plane.Hosts.AddRead(last.Loaded)
	}
	return nil
}
