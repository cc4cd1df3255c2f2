package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// Values reads and writes the values of configurations, for users who set them by hand.
type Values interface {
	// Author returns who a client is for edit rights.
	Author(who access.Identity) editing.Author
	// ApplicationForm returns the form of a place in the configuration of an application.
	ApplicationForm(ctx context.Context, a *query.Application, r deliver.FormRequest) (*deliver.Form, error)
	// SetApplication makes a commit with values of an application, and SetPlatform one with values of a control plane. With propose, it becomes a
	// pull request in the name of who, unless there are problems.
	SetApplication(ctx context.Context, a *query.Application, r deliver.SetRequest, who access.Identity, propose bool) (*deliver.Setting, *pullrequest.Written, error)
	SetPlatform(ctx context.Context, r schedule.SetRequest, who access.Identity, propose bool) (*schedule.Setting, *pullrequest.Written, error)
}

// ApplicationValue is a value to be set.
type ApplicationValue struct {
	// Key has dots for what is in maps: "image.tag". Dots within a key are quoted: `annotations."example.com/owner"`.
	Key string `json:"key" minLength:"1" maxLength:"1000"`
	// Value is any JSON value.
	Value any `json:"value"`
}

// SetApplicationValues sets values of a target, or of all targets of a folder.
type SetApplicationValues struct {
	// Target is the target whose folder of the configuration gets the values, Folder a folder instead: "." for its root. One of them is required.
	Target string             `json:"target,omitempty" maxLength:"253"`
	Folder string             `json:"folder,omitempty" maxLength:"1000"`
	Values []ApplicationValue `json:"values,omitempty" maxItems:"200"`
	SetOptions
}

// PlatformValue is a value to be set in a ConfigMap.
type PlatformValue struct {
	// Key is a key of the ConfigMap. A key with dots leads into a text that is a map.
	Key string `json:"key" minLength:"1" maxLength:"1000"`
	// Value is the text, or YAML for a value in a map.
	Value string `json:"value" maxLength:"65536"`
}

// SetPlatformValues sets values of a ConfigMap with platform configuration.
type SetPlatformValues struct {
	// ConfigMap is on the branch of the environment.
	ConfigMap string          `json:"configMap" minLength:"1" maxLength:"253"`
	Values    []PlatformValue `json:"values,omitempty" maxItems:"200"`
	SetOptions
}

// SetOptions are what is removed, and about the commit.
type SetOptions struct {
	// Remove are the keys of values to remove from the file, so that the values apply that they override. There must be a key here or a value to be set.
	Remove []string `json:"remove,omitempty" maxItems:"200"`
	// Message is the message of the commit. Default: what is set.
	Message string `json:"message,omitempty" maxLength:"2000"`
	// Preview only determines what the values change, and writes nothing.
	Preview bool `json:"preview,omitempty"`
}

// ValuesPlace is where values were written.
type ValuesPlace struct {
	// Written is the branch with the commit, PullRequest the URL of its pull request; both are absent if nothing was written.
	Written     string `json:"written,omitempty"`
	PullRequest string `json:"pullRequest,omitempty"`
	// Number is the number of the pull request.
	Number int `json:"number,omitempty"`
	// Known means that a pull request with the same values was open already, and that nothing was written.
	Known bool `json:"known,omitempty"`
}

// SetApplicationResult is what values of an application change, and where they were written.
type SetApplicationResult struct {
	ControlPlane string `json:"controlPlane"`
	Application  string `json:"application"`
	deliver.Setting
	ValuesPlace
}

// SetPlatformResult is what values of the platform change, and where they were written.
type SetPlatformResult struct {
	ControlPlane string `json:"controlPlane"`
	schedule.Setting
	ValuesPlace
}

// ApplicationForm is the form of a place in the configuration of an application.
type ApplicationForm struct {
	ControlPlane string `json:"controlPlane"`
	Application  string `json:"application"`
	Workspace    string `json:"workspace,omitempty"`
	// Source is the repository of the application.
	Source string `json:"source"`
	// MaySet tells whether the client has the role to set values here.
	MaySet bool `json:"maySet"`
	deliver.Form
}

// PlatformForm is the form of a ConfigMap.
type PlatformForm struct {
	ControlPlane string `json:"controlPlane"`
	// MaySet tells whether the client has the role to set values here.
	MaySet bool `json:"maySet"`
	schedule.Form
}

type (
	applicationFormInput struct {
		ApplicationPath
		Target string `query:"target" maxLength:"253" doc:"The target."`
		Folder string `query:"folder" maxLength:"1000" doc:"A folder of the configuration instead: . for its root. Without either, the answer lists the places."`
	}
	platformFormInput struct {
		EnvironmentPath
		ConfigMap string `query:"configMap" maxLength:"253" doc:"The ConfigMap. Default: the answer lists them."`
	}
	setApplicationInput struct {
		ApplicationPath
		Body SetApplicationValues
	}
	setPlatformInput struct {
		EnvironmentPath
		Body SetPlatformValues
	}
)

// The operations that set values.
const (
	setApplicationValues = "set-application-values"
	setPlatformValues    = "set-values"
)

// maxValuesBody limits values, in bytes.
const maxValuesBody = 1 << 20

func registerValues(s *service) {
	const written = "The values are checked against the schemas, and editableBy says whether the client may set them. The result is a commit in the name of the client, " +
		"on a new branch, and a pull request. The same values give the same pull request. With preview, and if a value is not allowed, nothing is written."
	ask(s, operation{
		id: "get-application-values", path: "/applications/{name}/environments/{environment}/values", summary: "Get the values of an application that users can set",
		about: "What the schemas say of each value, where it comes from, and who may set it.",
	}, s.applicationForm)
	tell(s, operation{
		id: setApplicationValues, path: "/applications/{name}/environments/{environment}/values", summary: "Set values of an application", about: written, most: maxValuesBody,
	}, s.setApplicationValues)
	ask(s, operation{
		id: "list-missing-values", path: "/missing-values", summary: "List the required values that targets lack",
		about: "As of the last rounds, each with who may set it.",
	}, within(s, (*query.Observer).Missing))
	ask(s, operation{
		id: "get-values", path: "/environments/{name}/values", summary: "Get the values of a ConfigMap with platform configuration",
		about: "As of the last round: what the schemas say of each value, what it overrides, and who may set it.",
	}, s.platformForm)
	tell(s, operation{id: setPlatformValues, path: "/environments/{name}/values", summary: "Set values of the platform", about: written, most: maxValuesBody}, s.setPlatformValues)
}

// noValues is the answer of a server that cannot set values.
func noValues() error {
	return newProblem(http.StatusNotImplemented, "this server does not set values", "use kalypso config set")
}

func (s *service) applicationForm(ctx context.Context, in applicationFormInput) (ApplicationForm, error) {
	a, err := s.seen(ctx).Application(ctx, in.ApplicationQuery)
	if err == nil {
		err = hasEnvironment(&a.Application, in.Environment)
	}
	if err == nil && s.Values == nil {
		err = noValues()
	}
	if err != nil {
		return ApplicationForm{}, err
	}
	who := access.From(ctx)
	f, err := s.Values.ApplicationForm(ctx, &a.Application, deliver.FormRequest{
		Environment: in.Environment, Target: in.Target, Folder: in.Folder, Author: s.Values.Author(who),
	})
	if err != nil {
		return ApplicationForm{}, unset(err)
	}
	_, denied := ruleOf(setApplicationValues).Allow(who, access.Place{ControlPlane: a.ControlPlane, Workspace: a.Workspace, Environment: in.Environment})
	return ApplicationForm{ControlPlane: a.ControlPlane, Application: a.Name, Workspace: a.Workspace, Source: a.Source.Repository, MaySet: denied == nil, Form: *f}, nil
}

func (s *service) setApplicationValues(ctx context.Context, in *setApplicationInput) (SetApplicationResult, error) {
	a, err := s.seen(ctx).Application(ctx, in.ApplicationQuery)
	if err == nil {
		err = hasEnvironment(&a.Application, in.Environment)
	}
	if err != nil {
		return SetApplicationResult{}, err
	}
	if ctx, err = mayChange(ctx, setApplicationValues, access.Place{ControlPlane: a.ControlPlane, Workspace: a.Workspace, Environment: in.Environment}); err != nil {
		return SetApplicationResult{}, err
	}
	if s.Values == nil {
		return SetApplicationResult{}, noValues()
	}
	who := access.From(ctx)
	r := deliver.SetRequest{
		Environment: in.Environment, Target: in.Body.Target, Folder: in.Body.Folder, Author: s.Values.Author(who), Message: in.Body.Message, When: s.now(),
	}
	for i, v := range in.Body.Values {
		one := deliver.SetValue{}
		if one.Path, err = editing.Path(v.Key); err == nil {
			one.Value, err = yamlOf(v.Value)
		}
		if err != nil {
			return SetApplicationResult{}, invalidPart(fmt.Sprintf("body.values[%d]", i), err)
		}
		r.Values = append(r.Values, one)
	}
	for i, key := range in.Body.Remove {
		path, err := editing.Path(key)
		if err != nil {
			return SetApplicationResult{}, invalidPart(fmt.Sprintf("body.remove[%d]", i), err)
		}
		r.Values = append(r.Values, deliver.SetValue{Path: path})
	}
	if len(r.Values) == 0 {
		return SetApplicationResult{}, invalidPart("body.values", errNoValues)
	}
	if !in.Body.Preview {
		keys := keysOf(in.Body.Values, func(v ApplicationValue) string { return v.Key })
		about := detail("application", a.Subject, "target", in.Body.Target, "folder", in.Body.Folder, "keys", keys, "removed", keysOf(in.Body.Remove, self))
		if err := s.audit(ctx, setApplicationValues, in.Environment, about); err != nil {
			return SetApplicationResult{}, err
		}
	}
	setting, w, err := s.Values.SetApplication(ctx, &a.Application, r, who, !in.Body.Preview)
	if err != nil {
		return SetApplicationResult{}, unset(err)
	}
	if err := refusedValues(in.Body.Preview, setting.Problems); err != nil {
		return SetApplicationResult{}, err
	}
	return SetApplicationResult{ControlPlane: a.ControlPlane, Application: a.Name, Setting: *setting, ValuesPlace: placeOf(w)}, nil
}

func (s *service) platformForm(ctx context.Context, in platformFormInput) (PlatformForm, error) {
	standing, err := s.Observer.Standing(in.Name, in.ControlPlane)
	if err != nil {
		return PlatformForm{}, err
	}
	draft, err := standing.Draft()
	if err != nil {
		return PlatformForm{}, err
	}
	if s.Values == nil {
		return PlatformForm{}, noValues()
	}
	who := access.From(ctx)
	f, err := draft.Form(in.ConfigMap, s.Values.Author(who))
	if err != nil {
		return PlatformForm{}, fmt.Errorf("%w: %w", ledger.ErrNotFound, err)
	}
	return PlatformForm{ControlPlane: standing.ControlPlane, MaySet: ruleOf(setPlatformValues).Admit(who) == nil, Form: *f}, nil
}

func (s *service) setPlatformValues(ctx context.Context, in *setPlatformInput) (SetPlatformResult, error) {
	standing, err := s.Observer.Standing(in.Name, in.ControlPlane)
	if err == nil && s.Values == nil {
		err = noValues()
	}
	if err != nil {
		return SetPlatformResult{}, err
	}
	who := access.From(ctx)
	r := schedule.SetRequest{
		Request: schedule.Request{ControlPlane: standing.ControlPlane, Environment: standing.Environment}, ConfigMap: in.Body.ConfigMap, Author: s.Values.Author(who),
		Message: in.Body.Message, When: s.now(),
	}
	for _, v := range in.Body.Values {
		r.Values = append(r.Values, schedule.SetValue{Key: v.Key, Text: v.Value})
	}
	for _, key := range in.Body.Remove {
		r.Values = append(r.Values, schedule.SetValue{Key: key, Remove: true})
	}
	if len(r.Values) == 0 {
		return SetPlatformResult{}, invalidPart("body.values", errNoValues)
	}
	if !in.Body.Preview {
		keys := keysOf(in.Body.Values, func(v PlatformValue) string { return v.Key })
		about := detail("controlPlane", standing.ControlPlane, "configMap", in.Body.ConfigMap, "keys", keys, "removed", keysOf(in.Body.Remove, self))
		if err := s.audit(ctx, setPlatformValues, standing.Environment, about); err != nil {
			return SetPlatformResult{}, err
		}
	}
	setting, w, err := s.Values.SetPlatform(ctx, r, who, !in.Body.Preview)
	if err != nil {
		return SetPlatformResult{}, unset(err)
	}
	if err := refusedValues(in.Body.Preview, setting.Problems); err != nil {
		return SetPlatformResult{}, err
	}
	return SetPlatformResult{ControlPlane: standing.ControlPlane, Setting: *setting, ValuesPlace: placeOf(w)}, nil
}

// refusedValues returns the problem of values that are not allowed. A preview shows them.
func refusedValues(preview bool, problems []fleet.Problem) error {
	if preview || len(problems) == 0 {
		return nil
	}
	p := newProblem(http.StatusUnprocessableEntity, "nothing was written: values are not allowed", "correct the values")
	for _, one := range problems[:min(len(problems), maxParts)] {
		p.Errors = append(p.Errors, ProblemPart{Message: safe(one.Message), Location: "body.values"})
	}
	return p
}

// SettingError is why values cannot be set. Its text is safe to show to clients.
type SettingError struct {
	// Status is the HTTP status, Next what to do.
	Status int
	Next   string
	Err    error
}

// Error implements error.
func (e *SettingError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *SettingError) Unwrap() error { return e.Err }

// unset converts the error of reading or setting values.
func unset(err error) error {
	var s *SettingError
	if errors.As(err, &s) {
		return newProblem(s.Status, inLine(s.Err), s.Next)
	}
	return err
}

func invalidPart(location string, err error) error {
	p := newProblem(http.StatusUnprocessableEntity, "invalid request", "correct the key or the value")
	p.Errors = []ProblemPart{{Message: inLine(err), Location: location}}
	return p
}

// yamlOf converts a JSON value to YAML in its usual style.
func yamlOf(value any) (*yaml.Node, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	n, err := editing.Value(string(text))
	if err != nil {
		return nil, err
	}
	plain(n)
	return n, nil
}

// plain removes the JSON style of a value. Texts that look like another type stay in quotes.
func plain(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		n.SetString(n.Value)
	} else {
		n.Style = 0
	}
	for _, c := range n.Content {
		plain(c)
	}
}

// errNoValues is the error of a request that neither sets nor removes a value.
var errNoValues = errors.New("no value to set or to remove")

func self(key string) string { return key }

func keysOf[T any](values []T, key func(T) string) string {
	var keys []string
	for _, v := range values {
		keys = append(keys, key(v))
	}
	text := strings.Join(keys, ",")
	return strings.ToValidUTF8(text[:min(len(text), maxAuditKeys)], "")
}

// maxAuditKeys limits the keys in the audit trail, in bytes.
const maxAuditKeys = 1000

func placeOf(w *pullrequest.Written) ValuesPlace {
	if w == nil {
		return ValuesPlace{}
	}
	p := ValuesPlace{Written: w.Branch, Known: w.Known}
	if w.PullRequest != nil {
		p.PullRequest, p.Number = w.PullRequest.URL, w.PullRequest.Number
	}
	return p
}
