package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// SetRequest is values to be set in a ConfigMap of an environment's branch.
type SetRequest struct {
	Request
	// ConfigMap is the name of the ConfigMap. // required
	ConfigMap string
	Values    []SetValue // required
	// Author is who sets them.
	Author editing.Author
	// Message is the message of the commit. Default: what is set. When is the commit's time, unless its parent is later. Required.
	Message string
	When    time.Time
}

// SetValue is the text of a key. A key with dots leads into a text that is a map, unless the ConfigMap has it as it is.
type SetValue struct {
	Key, Text string
	// Remove removes the value from the ConfigMap, so that the one applies that it overrides. Text has no effect then.
	Remove bool
}

// Setting is a commit that sets values, and what it does. The commit is on no branch yet.
type Setting struct {
	Environment string `json:"environment"`
	ConfigMap   string `json:"configMap"`
	// Repo, Branch and Base are the repository, branch and commit that was changed, File the file.
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Base   string `json:"base"`
	File   string `json:"file"`
	// Commit has the values; empty if the file has them already.
	Commit  string `json:"commit,omitempty"`
	Message string `json:"message"`
	// Digest identifies the values and the author, whatever they were before.
	Digest string `json:"-"`
	// Plan is what the values change; absent without a commit.
	Plan *plan.Plan `json:"plan,omitempty"`
	// Problems are the errors that the values cause: values that the author may not set, or that a schema does not allow.
	Problems []fleet.Problem `json:"problems"`
}

// Set makes a commit with the values, and determines what it changes. Comments and the format of the file stay.
func (d *Drafter) Set(ctx context.Context, commits pullrequest.Committer, r SetRequest) (*Setting, error) {
	loaded, err := d.Loader.Load(ctx, r.Request)
	if err != nil {
		return nil, err
	}
	in := loaded.Inputs.Branch
	if in.Commit == "" {
		return nil, fmt.Errorf("the branch of %s is a plain folder, which has no commits", r.Environment)
	}
	at, err := editable(loaded.Snapshot, r)
	if err != nil {
		return nil, err
	}
	var keys, removed []string
	parts := []string{r.Environment, at.File, r.ConfigMap, r.Author.Name, r.Author.Login}
	for _, v := range r.Values {
		if parts = append(parts, v.Key, v.Text, strconv.FormatBool(v.Remove)); v.Remove {
			removed = append(removed, v.Key)
		} else {
			keys = append(keys, v.Key)
		}
	}
	s := &Setting{
		Environment: r.Environment, ConfigMap: r.ConfigMap, Repo: in.Repo, Branch: in.Branch, Base: in.Commit, File: at.File,
		Message: cmp.Or(r.Message, fmt.Sprintf("%s: %s in %s", r.Environment, pullrequest.SetOrRemoved(keys, removed), r.ConfigMap)), Problems: []fleet.Problem{},
		Digest: pullrequest.DigestByHand(parts...),
	}
	was, err := d.Loader.content(ctx, Location{Repo: in.Repo, Branch: in.Branch, Commit: in.Commit}, at.File)
	if err != nil {
		return nil, err
	}
	is, err := setData(was, at.Line, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at.File, err)
	}
	if string(was) == string(is) {
		return s, nil
	}
	when := r.When
	if in.Time.After(when) {
		when = in.Time
	}
	s.Commit, err = commits.Commit(ctx, pullrequest.Commit{Repo: s.Repo, Branch: s.Branch, Parent: s.Base, Put: map[string][]byte{s.File: is}, Message: s.Message, When: when})
	if err != nil {
		return nil, fmt.Errorf("commit to the branch %q: %w", s.Branch, err)
	}
	base, changed := r.Request, r.Request
	base.BranchRef, changed.BranchRef = s.Base, s.Commit
	draft, err := d.Draft(ctx, DraftRequest{Request: changed, Base: &base})
	if err != nil {
		return nil, err
	}
	s.Plan = draft.Plan
	s.Problems = append(s.Problems, fleet.SortProblems(append(draft.CheckEdits(r.Author), draft.NewProblems...))...)
	return s, nil
}

// editable returns where a ConfigMap is written, if that is on the environment's branch.
func editable(s *fleet.Snapshot, r SetRequest) (fleet.Position, error) {
	var names []string
	for _, c := range s.Configs {
		if c.Name == r.ConfigMap {
			if c.Position.Source != r.Environment {
				return c.Position, fmt.Errorf("the ConfigMap %s is in %s, and not on the branch of %s; change it there", c.Name, c.Position.Source, r.Environment)
			}
			return c.Position, nil
		}
		if c.Position.Source == r.Environment {
			names = append(names, c.Name)
		}
	}
	near := fleet.Nearest(r.ConfigMap, names)
	if near == "" {
		near = strings.Join(names[:min(len(names), 10)], ", ")
	}
	return fleet.Position{}, fmt.Errorf("%s has no ConfigMap %q with platform configuration; there is %s", r.Environment, r.ConfigMap, cmp.Or(near, "none"))
}

// content returns a file at a location.
func (l *Loader) content(ctx context.Context, at Location, file string) ([]byte, error) {
	source, err := l.Repositories.Source(ctx, at)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(source.Files, func(f fleet.File) bool { return f.Path == file })
	if i < 0 {
		return nil, fmt.Errorf("%s is not there", file)
	}
	return source.Files[i].Read()
}

// setData sets and removes values of the ConfigMap that begins at a line.
func setData(text []byte, line int, r SetRequest) ([]byte, error) {
	for _, v := range r.Values {
		document, data, err := dataAt(text, line, r.ConfigMap)
		if err != nil {
			return nil, err
		}
		if first, rest, nested := strings.Cut(v.Key, "."); nested && data[v.Key] == nil && data[first] != nil {
			if v, err = inText(data[first], first, rest, v); err != nil {
				return nil, err
			}
		}
		path := []string{"data", v.Key}
		if v.Remove {
			text, err = editing.Remove(text, document, path)
		} else {
			node := &yaml.Node{}
			node.SetString(v.Text)
			text, err = editing.Set(text, document, path, node)
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// inText sets or removes a value within a text that is a map, and returns what that does to the text.
func inText(text *yaml.Node, key, rest string, v SetValue) (SetValue, error) {
	if text.Kind != yaml.ScalarNode {
		return v, fmt.Errorf("%s is not a text; write it by hand", key)
	}
	path, err := editing.Path(rest)
	if err != nil {
		return v, err
	}
	var inner []byte
	if v.Remove {
		inner, err = editing.Remove([]byte(text.Value), 0, path)
	} else {
		var leaf *yaml.Node
		if leaf, err = editing.Value(v.Text); err != nil {
			return v, fmt.Errorf("the value of %s cannot be read as YAML: %w", v.Key, err)
		}
		inner, err = editing.Set([]byte(text.Value), 0, path, leaf)
	}
	if err != nil {
		return v, fmt.Errorf("%s: %w", key, err)
	}
	none := v.Remove && strings.TrimSpace(string(inner)) == "{}"
	return SetValue{Key: key, Text: string(inner), Remove: none}, nil
}

// maxDocuments is the maximum number of documents in a file that is edited.
const maxDocuments = 1000

// dataAt returns the document of a ConfigMap, and its data.
func dataAt(text []byte, line int, name string) (document int, data map[string]*yaml.Node, err error) {
	roots, _, err := fleet.ParseYAML(text, maxDocuments)
	if err != nil {
		return 0, nil, err
	}
	for i, root := range roots {
		var c struct {
			Kind     string
			Metadata struct{ Name string }
			Data     map[string]yaml.Node
		}
		if root.Decode(&c) != nil || c.Kind != "ConfigMap" || c.Metadata.Name != name || root.Line < line {
			continue
		}
		data = map[string]*yaml.Node{}
		for key, value := range c.Data {
			data[key] = &value
		}
		return i, data, nil
	}
	return 0, nil, errors.New("the ConfigMap is not a document of its own; write the value by hand")
}
