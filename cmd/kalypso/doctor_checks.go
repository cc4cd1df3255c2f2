package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// clockTolerance is how far clocks may differ before reports and sign-on suffer.
const clockTolerance = time.Minute

// checkServer checks the server, or only the clusters of a ledger.
func (c *doctorCommand) checkServer(cmd *cobra.Command) error {
	if !c.place.Given(c.t) {
		c.found(doctorSkipped, "server", "-", "no server is given", "set --server or "+backend.EnvServer)
		return nil
	}
	at, err := c.place.Resolve(cmd, c.t)
	if err != nil {
		return err
	}
	if at.Server != nil && !c.checkReady(cmd.Context(), at.Server) {
		return nil
	}
	subject := at.Ledger
	if at.Server != nil {
		subject = at.Server.Server.String()
	}
	opened, err := at.Open(cmd.Context(), c.t)
	if err != nil {
		c.failed("server", subject, err, "")
		return nil
	}
	c.checkClusters(cmd.Context(), opened, subject)
	return opened.Close()
}

// checkReady checks a server, and reports whether more can be asked of it.
func (c *doctorCommand) checkReady(ctx context.Context, server *client.Client) bool {
	const area = "server"
	subject := server.Server.String()
	c.host = server.Server.Host
	ready, err := server.Ready(ctx)
	if err != nil {
		c.failed(area, subject, err, "check the address, and that the server runs and its port is open from here")
		return false
	}
	for _, line := range ready.Lines {
		warning, isWarning := strings.CutPrefix(line, "warning: ")
		switch {
		case isWarning:
			c.found(doctorWarning, area, subject, warning, "the fleet's page has the names and causes")
		case !ready.Ready:
			c.found(doctorProblem, area, subject, "not ready: "+line, "see the server's log")
		}
	}
	if off := ready.Clock.Sub(c.t.Now()); !ready.Clock.IsZero() && off.Abs() > clockTolerance {
		c.found(doctorWarning, area, subject, fmt.Sprintf("its clock differs from this machine's by %s", off.Abs().Round(time.Second)), "synchronize both clocks, for example with NTP")
	}
	who, err := client.Ask[access.Identity](ctx, server, "whoami", nil)
	if err != nil {
		c.failed(area, subject, err, "")
		return false
	}
	if ready.Ready {
		role := string(who.Role)
		if role == "" {
			role = terminal.Count(len(who.Grants), "grant")
		}
		c.found(doctorOK, area, subject, fmt.Sprintf("ready; you are %s (%s)", who.Name, role), "")
	}
	return true
}

// checkClusters checks what clusters report.
func (c *doctorCommand) checkClusters(ctx context.Context, f *backend.Fleet, subject string) {
	clusters, _, err := backend.All(query.MaxLimit, func(at query.Paging) (query.Page[query.Cluster], error) {
		return f.Clusters(ctx, query.ClustersQuery{Environment: c.source.environment, Paging: at})
	})
	if err != nil {
		c.failed("cluster", subject, err, "")
		return
	}
	healthy, known := 0, 0
	for _, cluster := range clusters {
		if c.cluster != "" && cluster.Name != c.cluster || cluster.Revoked {
			continue
		}
		known++
		if state, message, next := diagnoseCluster(cluster); state != doctorOK {
			c.found(state, "cluster", cluster.Name, message, next)
		} else {
			healthy++
		}
	}
	switch {
	case known == 0 && c.cluster != "":
		c.found(doctorProblem, "cluster", c.cluster, "is not registered", "kalypso cluster register "+terminal.ShellWord(c.cluster)+" --member ENVIRONMENT/CLUSTERTYPE")
	case known == 0:
		c.found(doctorWarning, "cluster", subject, "no cluster is registered", "kalypso cluster register NAME --member ENVIRONMENT/CLUSTERTYPE")
	case healthy > 0:
		c.found(doctorOK, "cluster", subject, terminal.Count(healthy, "cluster")+plural(healthy, " reports", " report"), "")
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// diagnoseCluster says what is wrong with a cluster, and how to mend it.
func diagnoseCluster(c query.Cluster) (state doctorState, message, next string) {
	const agent = "in that cluster: kubectl -n kalypso-agent get pods,secrets; kubectl -n kalypso-agent logs deploy/kalypso-agent"
	switch {
	case !c.Registered:
		return doctorWarning, "reports, but is not registered", "kalypso cluster register " + terminal.ShellWord(c.Name) + " --member ENVIRONMENT/CLUSTERTYPE"
	case c.LastHeard.IsZero() && c.ReportedBy != "":
		return doctorProblem, "the agent of " + c.ReportedBy + " has not reported it", "register " + c.ReportedBy + " again with --manifests and --destination, and apply them"
	case c.LastHeard.IsZero():
		return doctorProblem, "has never reported", agent + ". The agent needs the Secret kalypso-agent-token, and a way to the server"
	case c.Offline:
		return doctorProblem, "offline since " + c.LastHeard.UTC().Format(time.RFC3339), agent
	}
	for _, m := range c.Memberships {
		where := m.Environment + "/" + m.ClusterType
		show := "kalypso cluster show " + terminal.ShellWord(c.Name)
		switch {
		case m.Finding != "":
			return doctorWarning, where + ": " + m.Finding, "correct the registration or the Cluster object"
		case m.State == comply.Broken:
			return doctorProblem, where + ": " + m.Reason, show
		case m.State == comply.Missing && !m.Unpublished:
			return doctorProblem, where + ": no reconciler follows its folder", "apply the objects of kalypso cluster register --manifests --reconciler; " + show
		}
	}
	return doctorOK, "", ""
}

// checkEnvironment checks that an environment renders, its GitOps branch, and the forge of that.
func (c *doctorCommand) checkEnvironment(ctx context.Context, s *session, environment string) {
	const area = "controlPlane"
	request := s.request
	request.Environment = environment
	draft, err := s.drafter.Draft(ctx, schedule.DraftRequest{Request: request})
	if err != nil {
		c.failed(area, environment, err, "kalypso validate -e "+environment)
		return
	}
	problems, warnings := 0, 0
	for _, p := range schedule.Validate(draft).Problems {
		switch p.Severity {
		case fleet.SeverityError:
			problems++
		case fleet.SeverityWarning:
			warnings++
		}
	}
	state, message := doctorOK, "renders without errors"
	next := ""
	if problems > 0 {
		state, message, next = doctorProblem, terminal.Count(problems, "error"), "kalypso validate -e "+environment
	} else if warnings > 0 {
		message += "; " + terminal.Count(warnings, "warning")
	}
	c.found(state, area, environment, message, next)
	if draft.GitOps == nil {
		return
	}
	at := draft.GitOps.Location
	if !draft.GitOps.Exists {
		c.found(doctorWarning, area, environment, fmt.Sprintf("branch %s of the GitOps repository does not exist yet", at.Branch), "a server creates it; without one, create and push it")
	}
	if at.Folder == "" && !fleet.IsLocal(at.Repo) {
		c.checkForge(ctx, at)
	}
}

// checkForge checks that the token reads the pull requests of a GitOps repository.
func (c *doctorCommand) checkForge(ctx context.Context, at schedule.Location) {
	const area = "forge"
	if u, err := url.Parse(at.Repo); err == nil && c.host != "" && u.Host == c.host {
		c.found(doctorOK, area, at.Repo, "the embedded forge of the server", "")
		return
	}
	hosts, _, err := c.forges.forges(c.t.Env)
	if err != nil {
		c.failed(area, at.Repo, err, "")
		return
	}
	host, err := hosts.Forge(at.Repo)
	if err != nil {
		c.failed(area, at.Repo, err, "")
		return
	}
	repository, err := host.Repository(at.Repo)
	if err == nil {
		_, err = repository.FindPullRequests(ctx, forge.PullRequestFilter{State: forge.Open, Base: at.Branch})
	}
	switch {
	case errors.Is(err, forge.ErrNotFound):
		c.failed(area, at.Repo, err, "check that the repository exists, and that the token may read it")
	case err != nil:
		c.failed(area, at.Repo, err, "docs/reference/forges.md lists the rights that the token needs")
	default:
		c.found(doctorOK, area, at.Repo, fmt.Sprintf("%s answers; the token reads pull requests of %s", host.Kind(), at.Branch), "")
	}
}
