package pinning

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// action is what can be done with a target.
type action struct {
	// Name is the API's name, Verb the heading, Effect the description.
	Name, Verb, Effect string
}

// rollback is the action that needs a revision.
const rollback = "rollback"

var actions = []action{
	{rollback, "Roll back", "Opens a pull request with the files of one revision of this target, and nothing else. When it is merged, the target keeps these files until it is deployed again; " +
		"other targets move on."},
	{"uninstall", "Uninstall", "Opens a pull request that removes everything this target runs, and nothing else. When it is merged, clusters delete its objects. It stays in the Workload, and can be deployed again."},
	{"deploy", "Deploy", "Opens a pull request with which this target follows its environment again, and nothing else."},
}

// view is the page on which an action is confirmed.
type view struct {
	action
	// Target is its name in the fleet, In its environment, and Back its page.
	Target, In, Back string
	// Revision is the one to roll back to, with Version as the version of its build.
	Revision, Version, Why string
	ControlPlane           string
	// Revisions are the others, to choose from.
	Revisions []choice
	// Result is what becomes of the target, and Environment its pull request; nil if the request is refused.
	Result      *deliver.RequestedPin
	Environment *api.ProposedEnvironment
	// Changes, Problems and Findings are those of its plan.
	Changes  []change
	Problems []fleet.Problem
	Findings []check.Finding
	// Note is why it cannot be confirmed.
	Note string
	// Form is the token of the form.
	Form string

	operation string
	short     string
}

// choice is a revision to roll back to.
type choice struct {
	query.TargetRevision
	Address string
}

// change is a target that changes, as the page shows it.
type change struct {
	deliver.TargetChange
	Values []value
	// More is how many objects and values are left out.
	More int
}

// value is a value that changes. Was and Is report whether it was set, and will be.
type value struct {
	Key, Old, New string
	Was, Is       bool
}

// maxChanges limits the targets, problems and findings on the page, and the objects and values of each target.
const maxChanges = 100

// add adds a pull request with its plan.
func (v *view) add(e *api.ProposedEnvironment) {
	v.Environment, v.Findings = e, e.Findings[:min(len(e.Findings), maxChanges)]
	if p := e.Plan; p != nil {
		v.Changes, v.Problems = changesOf(p), p.Problems[:min(len(p.Problems), maxChanges)]
	}
}

// changesOf prepares the changes of a plan, whose credentials are hidden.
func changesOf(p *deliver.Plan) []change {
	var all []change
	for _, t := range p.Targets[:min(len(p.Targets), maxChanges)] {
		c := change{TargetChange: t, More: max(0, len(t.Objects)-maxChanges) + max(0, len(t.Values)-maxChanges)}
		c.Objects = t.Objects[:min(len(t.Objects), maxChanges)]
		for _, v := range t.Values[:min(len(t.Values), maxChanges)] {
			one := value{Key: v.Key, Was: v.Old != nil, Is: v.New != nil}
			if one.Was {
				one.Old = *v.Old
			}
			if one.Is {
				one.New = *v.New
			}
			c.Values = append(c.Values, one)
		}
		all = append(all, c)
	}
	return all
}

// maxWhy limits a reason, in bytes.
const maxWhy = 500

// view reads the target, as the user sees it.
func (s *service) view(r *request, a action) (*view, error) {
	v := &view{action: a, Why: r.given.Get("why"), Revision: r.given.Get("revision")}
	v.Why = v.Why[:min(len(v.Why), maxWhy)]
	at := "/environments/" + url.PathEscape(r.PathValue("name")) + "/targets/" + url.PathEscape(r.PathValue("target"))
	v.Back, v.ControlPlane = at, r.given.Get("controlPlane")
	if v.ControlPlane != "" {
		v.Back += "?" + url.Values{"controlPlane": {v.ControlPlane}}.Encode()
	}
	var d query.TargetDetail
	if err := api.Call(s.API, r.Request, v.Back, nil, &d); err != nil {
		return nil, err
	}
	v.Target, v.In, v.short = d.Name, d.Environment, d.ShortName
	if d.Delivery == nil {
		return nil, &api.Problem{Status: http.StatusUnprocessableEntity, Detail: "the server does not deliver the application of this target", Next: "change it where it is delivered from"}
	}
	v.operation = "/applications/" + url.PathEscape(d.Delivery.Application) + "/environments/" + url.PathEscape(d.Environment) + "/targets/" + a.Name +
		"?" + url.Values{"subject": {d.Delivery.Subject}}.Encode()
	if a.Name == rollback {
		v.choose(&d, at)
	}
	return v, nil
}

// choose lists the revisions with other files than the current one, and takes the newest of those before it if none is given. A target
// that was rolled back is at the revision that it went back to: later ones are what it was rolled back from.
func (v *view) choose(d *query.TargetDetail, at string) {
	if d.Revisions == nil {
		return
	}
	all := d.Revisions.Revisions
	since, current := 0, "" // since is the revision in which the target first had its files
	if i := slices.IndexFunc(all, func(one query.TargetRevision) bool { return one.Current }); i >= 0 {
		since, current = i, all[i].Files
	}
	for i, one := range all {
		if current != "" && one.Files == current {
			since = i
		}
	}
	others := func(one query.TargetRevision) bool { return one.Files != "" && one.Files != current }
	if v.Revision == "" {
		i := slices.IndexFunc(all[min(since, len(all)):], others)
		if i >= 0 {
			v.Revision = all[since+i].Commit
		}
	}
	for _, one := range all {
		if one.Commit == v.Revision {
			v.Version = one.Build.Version
			continue
		}
		if !others(one) {
			continue
		}
		query := url.Values{"revision": {one.Commit}}
		if v.ControlPlane != "" {
			query.Set("controlPlane", v.ControlPlane)
		}
		v.Revisions = append(v.Revisions, choice{one, at + "/" + rollback + "?" + query.Encode()})
	}
}

// body returns the body of the operation.
func (v *view) body(preview bool) any {
	selection, options := api.TargetSelection{Targets: []string{v.short}}, api.PinOptions{Why: v.Why, Preview: preview}
	switch v.Name {
	case rollback:
		return api.RollbackTarget{Target: v.short, Revision: v.Revision, PinOptions: options}
	case "uninstall":
		return api.UninstallTargets{TargetSelection: selection, PinOptions: options}
	}
	return api.DeployTargets{TargetSelection: selection, PinOptions: options}
}

// Possible reports whether there is something to confirm.
func (v *view) Possible() bool {
	return v.Note == "" && v.Result != nil && (v.Result.Result == deliver.PinProposed || v.Result.Result == deliver.PinWithdrawn)
}

// Button is the text of the button that confirms.
func (v *view) Button() string {
	e := v.Environment
	switch {
	case e == nil || e.PullRequest == nil:
		return "Open pull request"
	case e.Closes:
		return "Close pull request"
	}
	return "Update pull request"
}

// Seen identifies what the preview shows.
func (v *view) Seen() string {
	if v.Environment == nil || v.Environment.Plan == nil {
		return ""
	}
	text, err := json.Marshal([]any{v.Result, v.Environment.Plan.Targets, v.Environment.Plan.Before, v.Environment.Closes})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// told says what was done.
func (v *view) told() string {
	e := v.Environment
	switch {
	case e != nil && e.PullRequest != nil && e.Closes:
		return fmt.Sprintf("Pull request #%d is closed: nothing was left in it.", e.PullRequest.Number)
	case e == nil || e.PullRequest == nil:
		return fmt.Sprintf("%s is as requested already.", v.Target)
	case len(e.Done) == 0:
		return fmt.Sprintf("Pull request #%d is open already: %s", e.PullRequest.Number, secret.Line(e.PullRequest.Title))
	}
	return fmt.Sprintf("Pull request #%d is open: %s. It takes effect when it is merged.", e.PullRequest.Number, secret.Line(e.PullRequest.Title))
}
