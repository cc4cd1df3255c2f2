package schedule

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

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
	is, err := setData(was, at.Line, r, structures(loaded.Snapshot, r.ConfigMap))
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
	for _, u := range s.Unreadable {
		if u.Ref == (fleet.Ref{Kind: "ConfigMap", Name: r.ConfigMap}) {
			return u.Position, fmt.Errorf("the ConfigMap %s cannot be read: %s", r.ConfigMap, u.Position)
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

// structures returns the keys that other ConfigMaps have as maps or lists, so that a path can lead into them.
func structures(s *fleet.Snapshot, besides string) map[string]bool {
	keys := map[string]bool{}
	for _, c := range s.Configs {
		for _, e := range c.Entries {
			if c.Name != besides && !c.Store && !c.Expressions && isStructure(e.Value) {
				keys[e.Key] = true
			}
		}
	}
	return keys
}

// isStructure reports whether a value is a map or a list, or a text that is one.
func isStructure(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode {
		return true
	}
	roots, _, err := fleet.ParseYAML([]byte(n.Value), 2)
	return err == nil && len(roots) == 1 && roots[0].Kind != yaml.ScalarNode
}

// setData sets and removes values of the ConfigMap that begins at a line. others are the keys that are maps or lists in other ConfigMaps.
func setData(text []byte, line int, r SetRequest, others map[string]bool) ([]byte, error) {
	for _, v := range r.Values {
		document, data, err := dataAt(text, line, r.ConfigMap)
		if err != nil {
			return nil, err
		}
		path := []string{"data", v.Key}
		node := &yaml.Node{}
		node.SetString(v.Text)
		if key, rest := splitKey(v.Key, data, others); rest != "" {
			if numbered(rest) && others[key] {
				return nil, fmt.Errorf("%s: other ConfigMaps have %s, too, and the elements of all are numbered together; write it by hand", v.Key, key)
			}
			steps, err := editing.Path("key" + rest)
			if err != nil {
				return nil, err
			}
			switch steps = steps[1:]; {
			case data[key] != nil && data[key].Kind != yaml.ScalarNode:
				path = append([]string{"data", key}, steps...)
				if node, err = editing.Value(v.Text); err != nil && !v.Remove {
					return nil, fmt.Errorf("the value of %s cannot be read as YAML: %w", v.Key, err)
				}
			default:
				if v, err = inText(data[key], key, steps, v); err != nil {
					return nil, err
				}
				path = []string{"data", key}
				node.SetString(v.Text)
			}
		} else if data[v.Key] == nil && len(validation.IsConfigMapKey(v.Key)) > 0 {
			return nil, fmt.Errorf("%q cannot be a key of a ConfigMap, and no ConfigMap has a map or list that it leads into", v.Key)
		}
		if v.Remove {
			text, err = editing.Remove(text, document, path)
		} else {
			text, err = editing.Set(text, document, path, node)
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// splitKey returns the key of a ConfigMap that a path begins with, and the path in its value; it is empty for the whole value. A key of
// the ConfigMap itself comes before those of others, and a longer one before a shorter one.
func splitKey(path string, data map[string]*yaml.Node, others map[string]bool) (key, rest string) {
	if data[path] != nil {
		return path, ""
	}
	for _, known := range []func(string) bool{func(k string) bool { return data[k] != nil }, func(k string) bool { return others[k] }} {
		for i := len(path) - 1; i > 0; i-- {
			if (path[i] == '.' || path[i] == '[') && known(path[:i]) {
				return path[:i], path[i:]
			}
		}
	}
	return path, ""
}

// numbered reports whether a path has an element of a list that is given by its number.
func numbered(path string) bool {
	for part := range strings.SplitSeq(path, "[") {
		number, _, closed := strings.Cut(part, "]")
		if _, err := strconv.Atoi(number); closed && err == nil {
			return true
		}
	}
	return false
}

// inText sets or removes a value within a text that is a map or list, and returns the change of the text. A nil text does not exist yet.
func inText(text *yaml.Node, key string, path []string, v SetValue) (SetValue, error) {
	if text == nil {
		text = &yaml.Node{Kind: yaml.ScalarNode}
	}
	var inner []byte
	var err error
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
	if text.Value != "" && !strings.HasSuffix(text.Value, "\n") {
		inner = bytes.TrimRight(inner, "\n")
	}
	left := strings.TrimSpace(string(inner))
	return SetValue{Key: key, Text: string(inner), Remove: v.Remove && (left == "{}" || left == "[]")}, nil
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
