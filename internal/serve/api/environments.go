package api

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// EnvironmentPath names an environment in an address.
type EnvironmentPath struct {
	Name         string `path:"name" maxLength:"253" doc:"The name of the environment."`
	ControlPlane string `query:"controlPlane" maxLength:"2048" doc:"The address of its control plane; needed only where several have an environment of the name."`
}

type environmentsInput struct {
	ControlPlane string `query:"controlPlane" maxLength:"2048" doc:"Only those of this control plane."`
	Paging
}

type environmentInput struct {
	EnvironmentPath
	AsOf time.Time `query:"asOf" doc:"The time of which it is wanted; absent: now."`
}

type progressInput struct {
	EnvironmentPath
	Commit string `query:"commit" maxLength:"64" doc:"The hash, or at least seven digits of it; absent: the commit that the environment names."`
}

type assignmentsInput struct {
	Environment  string    `query:"environment" required:"true" maxLength:"253" doc:"The environment whose assignments are wanted."`
	ControlPlane string    `query:"controlPlane" maxLength:"2048" doc:"The address of its control plane; needed only where several have an environment of the name."`
	ClusterType  string    `query:"clusterType" maxLength:"253" doc:"Only those on this cluster type."`
	Target       string    `query:"target" maxLength:"253" doc:"Only those of this target."`
	Workload     string    `query:"workload" maxLength:"253" doc:"Only those of this workload."`
	Workspace    string    `query:"workspace" maxLength:"253" doc:"Only those of this workspace."`
	AsOf         time.Time `query:"asOf" doc:"The time of which they are wanted; absent: now."`
	Paging
}

func (s *service) assignmentsQuery(in *assignmentsInput) (query.AssignmentsQuery, error) {
	controlPlane, err := s.choose(in.Environment, in.ControlPlane)
	if err != nil {
		return query.AssignmentsQuery{}, err
	}
	paging, err := in.of()
	return query.AssignmentsQuery{
		Environment: in.Environment, ControlPlane: controlPlane, ClusterType: in.ClusterType, Target: in.Target, Workload: in.Workload, Workspace: in.Workspace,
		AsOf: in.AsOf, Paging: paging,
	}, err
}

func registerEnvironments(s *service) {
	askList(s, operation{
		id: "list-environments", path: "/environments", summary: "Environments at a glance",
		about: "Those of one control plane together, in the order of its chain: commit, gate, open change, problems, and what waits for what.",
	}, func(ctx context.Context, in *environmentsInput) (query.Page[query.Environment], error) {
		paging, err := in.of()
		if err != nil {
			return query.Page[query.Environment]{}, err
		}
		return s.Observer.Environments(ctx, query.EnvironmentsQuery{ControlPlane: in.ControlPlane, Paging: paging})
	})
	ask(s, operation{
		id: "get-environment", path: "/environments/{name}", summary: "Everything about one environment",
	}, func(ctx context.Context, in *environmentInput) (query.EnvironmentDetail, error) {
		controlPlane, err := s.choose(in.Name, in.ControlPlane)
		if err != nil {
			return query.EnvironmentDetail{}, err
		}
		return s.Observer.Environment(ctx, query.EnvironmentQuery{Name: in.Name, ControlPlane: controlPlane, AsOf: in.AsOf})
	})
	ask(s, operation{
		id: "get-progress", path: "/environments/{name}/progress", summary: "Whether a commit passed, failed or waits",
		about: "What a job asks again and again that waits for its commit; with If-None-Match that costs little.",
	}, func(ctx context.Context, in *progressInput) (query.Progress, error) {
		controlPlane, err := s.choose(in.Name, in.ControlPlane)
		if err != nil {
			return query.Progress{}, err
		}
		return s.Observer.Progress(ctx, query.ProgressQuery{Environment: in.Name, ControlPlane: controlPlane, Commit: in.Commit})
	})
	askList(s, operation{
		id: "list-assignments", path: "/assignments", summary: "Which target is on which cluster type, and how its clusters are doing",
	}, func(ctx context.Context, in *assignmentsInput) (query.Page[query.Assignment], error) {
		q, err := s.assignmentsQuery(in)
		if err != nil {
			return query.Page[query.Assignment]{}, err
		}
		return s.Observer.Assignments(ctx, q)
	})
	question(s, operation{
		id: "get-matrix", path: "/matrix", summary: "The assignments of an environment as a table",
		about: "A page has as many targets as its limit says, with all cluster types.",
	}, reflect.TypeFor[query.Matrix](), s.matrix)
}

func (s *service) matrix(ctx context.Context, in *assignmentsInput) (answer, error) {
	q, err := s.assignmentsQuery(in)
	if err != nil {
		return answer{}, err
	}
	m, err := s.Observer.Matrix(ctx, q)
	m.Next = encodeCursor(m.Next)
	return answer{body: m, next: m.Next}, err
}

// choose finds the control plane of the environment that is meant. Empty is that of one which no round knows.
func (s *service) choose(environment, named string) (controlPlane string, err error) {
	if named != "" {
		return named, nil
	}
	var found []string
	for _, standing := range s.Observer.Standings() {
		if standing.Environment == environment {
			found = append(found, standing.ControlPlane)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", &ambiguousError{environment: environment, controlPlanes: found}
}

// standing finds the environment that an address means, among those that the rounds of this server know: what people say
// about another one nobody would heed.
func (s *service) standing(at EnvironmentPath) (query.Standing, error) {
	controlPlane, err := s.choose(at.Name, at.ControlPlane)
	if err != nil {
		return query.Standing{}, err
	}
	for _, standing := range s.Observer.Standings() {
		if standing.Environment == at.Name && standing.ControlPlane == controlPlane {
			return standing, nil
		}
	}
	return query.Standing{}, newProblem(http.StatusNotFound, "no environment "+quote(at.Name)+" is kept by this server",
		"list them: GET "+Root+"/environments; after a start it takes a round until they are known")
}
