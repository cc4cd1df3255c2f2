package web

import (
	"net/url"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// needsView is what needs a user.
type needsView struct {
	query.Needs
	Rows []needView
	// More is how many needs are not on the page, and All the address of all of them.
	More int
	All  string
	// Next is the address of the next page; empty on the last one.
	Next string
	// MoreUnsure is how much of what is not known the page leaves out.
	MoreUnsure int
	// Kind and Environment are the filter; empty for all.
	Kind, Environment string
	Kinds             []needKindView
	Environments      choices
}

// needKindView is a kind of needs in the filter.
type needKindView struct{ Name, Label string }

// needView is a need with what settles it.
type needView struct {
	query.UserNeed
	// Tone and Symbol show its urgency, and Label its kind.
	Tone, Symbol, Label string
	// Places are the pages of its environments, and of its application.
	Places []Link
	// Do is the one action; without an address if there is none for this user, whom Who tells who can.
	Do  Link
	Who string
	// Command settles it on the command line; empty if a page does.
	Command string
	// Others counts the clusters that are not named.
	Others int
}

// needLabels has the words for the kinds of needs, by urgency.
var needLabels = []struct {
	kind        query.NeedKind
	label, tone string
}{
	{query.NeedClusters, "clusters fail", bad},
	{query.NeedVerification, "verification failed", bad},
	{query.NeedRemovals, "removals to allow", warn},
	{query.NeedApproval, "to approve", move},
	{query.NeedChecks, "checks", bad},
	{query.NeedPromotion, "to promote", move},
	{query.NeedMerge, "to merge", move},
	{query.NeedValue, "value missing", bad},
	{query.NeedProblem, "problem", bad},
	{query.NeedReports, "no reports", off},
	{query.NeedCluster, "no clusters", warn},
	{query.NeedClosed, "closed", warn},
	{query.NeedResume, "paused", warn},
	{query.NeedWarning, "warning", warn},
}

// toneSymbols has the symbol of each tone.
var toneSymbols = map[string]string{bad: "✕", warn: "▲", move: "◐", off: "⊘"}

// maxFirstNeeds limits the needs on the page of the fleet, and maxFirstUnsure what is not known there.
const (
	maxFirstNeeds  = 8
	maxFirstUnsure = 3
)

// allNeeds returns everything that needs a user; nil if no rounds are known.
func (s *site) allNeeds(q *pageRequest) (*needsView, error) {
	if q.observer.Fleet == nil || len(q.observer.Fleet.ControlPlanes()) == 0 {
		return nil, nil
	}
	return s.needsOf(q, query.NeedsQuery{ControlPlane: q.text("controlPlane"), Paging: query.Paging{Limit: query.MaxLimit}})
}

// first returns the most urgent needs, for the page of the fleet; nil if v is.
func (v *needsView) first() *needsView {
	if v == nil {
		return nil
	}
	first := *v
	first.Rows = v.Rows[:min(len(v.Rows), maxFirstNeeds)]
	first.More, first.All = first.Total-len(first.Rows), "/needs"
	if shown := min(len(first.Unsure), maxFirstUnsure); shown < len(first.Unsure) {
		first.MoreUnsure, first.Unsure = len(first.Unsure)-shown, first.Unsure[:shown]
	}
	return &first
}

func (s *site) needs(q *pageRequest) (*pageResult, error) {
	var kinds []query.NeedKind
	for _, l := range needLabels {
		kinds = append(kinds, l.kind)
	}
	kind, err := oneOf(q, "kind", kinds...)
	if err != nil {
		return nil, err
	}
	view, err := s.needsOf(q, query.NeedsQuery{
		Kind: kind, Environment: q.text("environment"), ControlPlane: q.text("controlPlane"), Paging: q.paging(query.DefaultLimit),
	})
	if err != nil {
		return nil, err
	}
	environments, err := s.environmentNames(q)
	if err != nil {
		return nil, err
	}
	view.Environments = choicesOf("Environment", "environment", q.text("environment"), environments)
	view.Next, view.Kind, view.Environment = q.next(view.Needs.Next), string(kind), q.text("environment")
	for _, l := range needLabels {
		view.Kinds = append(view.Kinds, needKindView{string(l.kind), l.label})
	}
	return &pageResult{
		title: "Inbox", value: view.Needs, view: view, command: s.command("status"), concerns: []string{operations("")},
		summary: count(view.Total, "thing") + " to do",
	}, nil
}

func (s *site) needsOf(q *pageRequest, of query.NeedsQuery) (*needsView, error) {
	found, err := q.observer.Needs(q.Context(), of)
	if err != nil {
		return nil, err
	}
	view := &needsView{Needs: found}
	for _, n := range found.Items {
		view.Rows = append(view.Rows, s.needView(q, n))
	}
	return view, nil
}

// needView adds the action that the user's role allows.
func (s *site) needView(q *pageRequest, n query.UserNeed) needView {
	v := needView{UserNeed: n, Others: max(0, n.Count-len(n.Clusters))}
	for _, l := range needLabels {
		if l.kind == n.Kind {
			v.Label, v.Tone, v.Symbol = l.label, l.tone, toneSymbols[l.tone]
		}
	}
	if n.Application != "" {
		v.Places = append(v.Places, Link{n.Application, workloadAddress(n.Application)})
	}
	for _, name := range n.Environments {
		v.Places = append(v.Places, Link{name, needEnvironment(n, name, "")})
	}
	s.addAction(&v, q.role.Includes(access.Operator))
	return v
}

// addAction sets the one action that settles a need. Operators act on confirmation pages; on the forge everyone may do what the forge allows.
func (s *site) addAction(v *needView, operator bool) {
	onForge := Link{Name: "Open pull request"}
	if v.PullRequest != nil && isLink(v.PullRequest.URL) {
		onForge.Address = v.PullRequest.URL
		if v.PullRequest.Number > 0 {
			onForge.Name = "Open #" + strconv.Itoa(v.PullRequest.Number)
		}
	}
	switch v.Action {
	case query.ActMerge:
		of := "files"
		if v.Kind == query.NeedPromotion {
			of = "proposal"
		}
		v.Do = onForge
		if operator && v.Application == "" {
			v.Do = Link{"Review and merge", needEnvironment(v.UserNeed, v.Environments[0], "/merge") + "&of=" + of}
		}
	case query.ActAllow, query.ActReview:
		v.Do = onForge
	case query.ActApprove:
		s.addCommand(v, operator, "Approve", "/approve", "approve")
	case query.ActResume:
		s.addCommand(v, operator, "Resume", "/resume", "resume")
	case query.ActEdit:
		if v.Problem.Lacks != "" && len(v.Environments) > 0 {
			v.Do = Link{"Set value", valuesForm(v.UserNeed)}
			break
		}
		v.Do = Link{"Show " + v.Problem.Position.String(), v.page() + "#problems"}
		if v.Problem.Position.File == "" {
			v.Do.Name = "Show problem"
		}
	case query.ActInspect:
		v.Do = Link{"Show", v.page()}
		if v.State != "" && v.Application == "" {
			v.Do = Link{"Show clusters", needClusters(v.UserNeed)}
		}
	case query.ActRegister:
		v.Do = Link{"Show clusters", needClusters(v.UserNeed)}
		if v.Kind == query.NeedCluster {
			v.Do = Link{}
			v.Command = s.command("cluster", "register", "NAME", "--member", v.Environments[0]+"/"+v.ClusterTypes[0])
		}
	}
}

// addCommand sets an action of operators. Applications have no confirmation pages: their page shows what waits.
func (s *site) addCommand(v *needView, operator bool, name, path, command string) {
	switch {
	case !operator:
		v.Who = "an operator can do this"
	case v.Application != "":
		words := []string{"promote", command, v.Environments[0]}
		if v.Check != "" {
			words = append(words, v.Check, "--commit", v.Commit)
		}
		v.Command = s.command(append(words, "--application", v.Application)...)
	default:
		v.Do = Link{name, needEnvironment(v.UserNeed, v.Environments[0], path)}
		for _, pair := range [][2]string{{"ring", v.Ring}, {"check", v.Check}} {
			if pair[1] != "" {
				v.Do.Address += "&" + pair[0] + "=" + url.QueryEscape(pair[1])
			}
		}
	}
}

// page returns the page about a need: that of the application, or of the first environment.
func (v *needView) page() string {
	switch {
	case v.Application != "":
		return workloadAddress(v.Application)
	case len(v.Environments) > 0:
		return needEnvironment(v.UserNeed, v.Environments[0], "")
	}
	return "/"
}

func workloadAddress(name string) string { return "/workloads/" + url.PathEscape(name) }

// needEnvironment returns the page of a need's environment, or of an action there.
func needEnvironment(n query.UserNeed, name, action string) string {
	return "/environments/" + url.PathEscape(name) + action + "?controlPlane=" + url.QueryEscape(n.ControlPlane)
}

// valuesForm returns the form that sets a missing value: of the target, or the list of ConfigMaps, of which several can have the value.
func valuesForm(n query.UserNeed) string {
	if n.Application == "" {
		return needEnvironment(n, n.Environments[0], "/values")
	}
	q := url.Values{"environment": {n.Environments[0]}, "subject": {n.Subject}}
	if n.Problem.Assignment != "" {
		q.Set("target", n.Problem.Assignment)
	}
	return workloadAddress(n.Application) + "/values?" + q.Encode()
}

// needClusters returns the list of the clusters of a need.
func needClusters(n query.UserNeed) string {
	environment := ""
	if len(n.Environments) == 1 {
		environment = n.Environments[0]
	}
	return clustersAddress(environment, "", string(n.State))
}
