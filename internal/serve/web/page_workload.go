package web

import (
	"slices"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/text/natural"
)

// workloadsPage is the list of workloads.
type workloadsPage struct {
	Workspaces choices
	query.Page[query.Workload]
	// Environment and Workspace are the filter.
	Environment, Workspace string
	Environments           []string
	Next                   string
}

func (s *site) workloads(q *pageRequest) (*pageResult, error) {
	environment, workspace := q.text("environment"), q.text("workspace")
	page, err := q.observer.Workloads(q.Context(), query.WorkloadsQuery{Environment: environment, Workspace: workspace, Paging: q.paging(500)})
	if err != nil {
		return nil, err
	}
	known, err := s.environmentNames(q)
	if err != nil {
		return nil, err
	}
	_, workspaces := s.snapshotNames(q)
	return &pageResult{
		title: "Workloads", value: page, command: s.command("status"), concerns: []string{operations("")},
		view: workloadsPage{Page: page, Environment: environment, Workspace: workspace, Environments: known, Next: q.next(page.Next), Workspaces: choicesOf("Workspace", "workspace", workspace, workspaces)},
	}, nil
}

// environmentNames returns the distinct names of all environments.
func (s *site) environmentNames(q *pageRequest) ([]string, error) {
	var names []string
	for _, standing := range q.observer.Standings() {
		names = append(names, standing.Environment)
	}
	if len(names) == 0 {
		page, err := q.observer.Environments(q.Context(), query.EnvironmentsQuery{Paging: query.Paging{Limit: query.MaxLimit}})
		if err != nil {
			return nil, err
		}
		for _, e := range page.Items {
			names = append(names, e.Name)
		}
	}
	return slices.Compact(natural.Sort(names)), nil
}

func (s *site) workload(q *pageRequest) (*pageResult, error) {
	name := q.PathValue("name")
	detail, err := q.observer.Workload(q.Context(), name)
	if err != nil {
		return nil, err
	}
	figures, err := q.observer.Figures(q.Context(), query.FiguresQuery{Workload: name})
	if err != nil {
		return nil, err
	}
	delivered, err := s.delivered(q, name)
	if err != nil {
		return nil, err
	}
	return &pageResult{
		title: line(name), value: detail, command: s.command("history", "workload", name), concerns: []string{operations("")},
		view: workloadPage{WorkloadDetail: detail, Delivered: delivered, Figures: figures, Groups: groupsOf(timelineOf(detail.History, q.URL.EscapedPath()))},
	}, nil
}

// workloadPage shows one workload.
type workloadPage struct {
	query.WorkloadDetail
	// Delivered is its application, once for each control plane that registers it; empty if it is not delivered.
	Delivered []applicationView
	Figures   query.Figures
	// Groups are the last events, by cause.
	Groups []eventGroup
}
