package web

import (
	"net/url"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// comparePage is the comparison of two environments.
type comparePage struct {
	// Comparison is nil until both are chosen.
	Comparison   *query.Comparison
	A, B, AsOf   string
	Environments []string
	Same         bool
	Past         time.Time
	Now          string
	// BAsOf and PastB are the time of the second environment, if it has one of its own. Times reports that two times of one environment
	// are compared.
	BAsOf string
	PastB time.Time
	Times bool
	// Configuration are the values that differ, with links to their layers.
	Configuration []configView
	Timeline      []eventView
	// Files is the page of the differences of the GitOps commits on the forge; empty if it is not known.
	Files string
	Time  *timeBar
}

// Sides returns both environments.
func (v comparePage) Sides() []query.Side { return []query.Side{v.Comparison.A, v.Comparison.B} }

// configView is a value that differs.
type configView struct {
	query.ConfigDifference
	A, B *sideView
	// More is how many more assignments have the same difference.
	More int
	// Address is the explanation of the first one in the first environment.
	Address string
}

// sideView is the value in one environment, with its layers.
type sideView struct {
	Value, Expression string
	Layers            []layerView
}

func (s *site) compare(q *pageRequest) (*pageResult, error) {
	view := comparePage{A: q.text("a"), B: q.text("b"), AsOf: q.text("asOf"), Now: q.with("asOf", "")}
	var moved string
	var err error
	if view.Past, moved, err = q.asOf(); err != nil || moved != "" {
		return &pageResult{to: moved}, err
	}
	view.BAsOf = q.text("bAsOf")
	if view.PastB, err = q.when("bAsOf"); err != nil {
		return nil, err
	}
	if view.A == view.B && !view.Past.IsZero() && view.PastB.IsZero() {
		view.PastB = q.now
	}
	if view.Environments, err = s.environmentNames(q); err != nil {
		return nil, err
	}
	a := &pageResult{title: "Compare", value: struct{}{}}
	if view.A != "" && view.B != "" {
		c, err := q.observer.Compare(q.Context(), query.CompareQuery{A: view.A, B: view.B, AsOf: view.Past, BAsOf: view.PastB})
		if err != nil {
			return nil, err
		}
		view.Comparison, view.Same = &c, c.SameCommit && len(c.Targets) == 0 && len(c.Assignments) == 0 && (c.Configuration == nil || len(c.Configuration.Differences) == 0)
		a.title, a.value = line(view.A)+" and "+line(view.B), c
		view.addConfiguration(s, q, &c)
		view.Times = view.A == view.B && !view.PastB.Equal(view.Past) && !view.PastB.IsZero()
		view.Timeline = timelineOf(c.Events, "")
		view.Files = s.filesBetween(q, &c)
		if view.Times {
			a.title = line(view.A) + ", then and later"
		}
		a.command = s.compareCommand(&view)
		a.concerns = whenCurrent(view.Past, operations("environments/"), operations("clusters/"))
		one := ""
		if view.A == view.B {
			one = view.A
		}
		if view.Time, err = s.timeBar(q, one, view.Past); err != nil {
			return nil, err
		}
		if view.Time != nil {
			view.Time.Since = ""
		}
	} else if len(view.Environments) > 1 {
		view.A, view.B = view.Environments[0], view.Environments[1]
	}
	a.view = view
	return a, nil
}

// compareCommand returns the command that shows the same; empty for an environment and itself.
func (s *site) compareCommand(v *comparePage) string {
	if v.A == v.B && v.Past.IsZero() && v.BAsOf == "" {
		return ""
	}
	args := []string{"compare", v.A, v.B}
	if !v.Past.IsZero() {
		args = append(args, "--as-of", v.Past.Format(time.RFC3339))
	}
	if v.BAsOf != "" {
		args = append(args, "--b-as-of", v.PastB.Format(time.RFC3339))
	}
	return s.command(args...)
}

// addConfiguration adds the values that differ, with their layers.
func (v *comparePage) addConfiguration(s *site, q *pageRequest, c *query.Comparison) {
	if c.Configuration == nil {
		return
	}
	a, b := s.placesIn(q, c.A.Environment), s.placesIn(q, c.B.Environment)
	for _, d := range c.Configuration.Differences {
		view := configView{ConfigDifference: d, A: sideOfValue(d.A, a), B: sideOfValue(d.B, b), More: d.Assignments - 1}
		view.Address = "/environments/" + url.PathEscape(c.A.Environment) + "/explain?" + url.Values{
			"target": {d.Workload + "/" + d.Target}, "clusterType": {d.ClusterType},
		}.Encode()
		v.Configuration = append(v.Configuration, view)
	}
}

// placesIn finds the pages of positions in an environment's last round.
func (s *site) placesIn(q *pageRequest, environment string) places {
	standing, err := q.observer.Standing(environment, "")
	if err != nil {
		return s.placesOf(nil)
	}
	draft, err := standing.Draft()
	if err != nil {
		return s.placesOf(nil)
	}
	return s.placesOf(draft.Loaded.Inputs.All())
}

func sideOfValue(v *query.ConfigValue, p places) *sideView {
	if v == nil {
		return nil
	}
	view := &sideView{Value: v.Value, Expression: v.Expression, Layers: []layerView{{Layer: v.From, Value: v.Value, At: p.at(v.From.Position)}}}
	for _, o := range v.Over {
		view.Layers = append(view.Layers, layerView{Layer: o.Layer, Value: o.Value, At: p.at(o.Position)})
	}
	return view
}

// filesBetween returns the forge's page of what differs between the GitOps commits of one environment at two times.
func (s *site) filesBetween(q *pageRequest, c *query.Comparison) string {
	if c.A.Environment != c.B.Environment || c.A.GitOpsCommit == c.B.GitOpsCommit {
		return ""
	}
	e, err := q.observer.Environment(q.Context(), query.EnvironmentQuery{Name: c.A.Environment, ControlPlane: q.text("controlPlane")})
	if err != nil || e.GitOps == nil {
		return ""
	}
	return s.onForge(s.repositoryURL(e.GitOps.Repository)).Compare(c.A.GitOpsCommit, c.B.GitOpsCommit)
}
