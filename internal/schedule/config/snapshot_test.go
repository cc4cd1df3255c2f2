package config

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	texttemplate "text/template"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// world is what a case describes in fleet.yaml. Every target runs on every cluster type.
type world struct {
	ClusterTypes []*fleet.ClusterType `yaml:"clusterTypes"`
	Clusters     []*fleet.Cluster
	Targets      []struct {
		Name          string
		Workload      string
		Labels        map[string]string
		ConfigSchemas []string `yaml:"configSchemas"`
	}
	Unreadable []struct {
		Kind, Name string
		Labels     map[string]string
	}
}

// object is a ConfigMap or ConfigSchema as written.
type object struct {
	Kind     string
	Metadata struct {
		Name                string
		Labels, Annotations map[string]string
	}
	Data yaml.Node
	Spec struct {
		Schema    any
		OnMissing v1alpha1.MissingAction `yaml:"onMissing"`
	}
}

// snapshotOf builds a snapshot from YAML files, name to content.
func snapshotOf(tb testing.TB, files map[string]string) *fleet.Snapshot {
	tb.Helper()
	s := &fleet.Snapshot{Environment: "dev"}
	for name, text := range files {
		decoder := yaml.NewDecoder(strings.NewReader(text))
		for {
			var err error
			if name == "fleet.yaml" {
				err = addWorld(s, decoder)
			} else {
				err = addObject(s, name, decoder)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				tb.Fatalf("%s: %v", name, err)
			}
		}
	}
	return s
}

func addWorld(s *fleet.Snapshot, decoder *yaml.Decoder) error {
	var w world
	if err := decoder.Decode(&w); err != nil {
		return err
	}
	s.ClusterTypes, s.Clusters = w.ClusterTypes, w.Clusters
	for _, t := range w.Targets {
		target := &fleet.Target{Name: t.Name, Workload: t.Workload, Labels: t.Labels, ConfigSchemas: t.ConfigSchemas}
		target.Position = fleet.Position{Source: "app", File: "workload.yaml", Line: 1}
		s.Targets = append(s.Targets, target)
	}
	for _, u := range w.Unreadable {
		s.Unreadable = append(s.Unreadable, fleet.Unreadable{
			Ref: fleet.Ref{Kind: u.Kind, Name: u.Name}, Labels: u.Labels, Position: fleet.Position{Source: "dev", File: "broken.yaml", Line: 3},
		})
	}
	return nil
}

func addObject(s *fleet.Snapshot, file string, decoder *yaml.Decoder) error {
	var root yaml.Node
	if err := decoder.Decode(&root); err != nil {
		return err
	}
	var o object
	if err := root.Decode(&o); err != nil {
		return err
	}
	origin := fleet.Origin{Position: fleet.Position{Source: "dev", File: file, Line: root.Content[0].Line}}
	text, err := yaml.Marshal(&root)
	if err != nil {
		return err
	}
	origin.Digest = sha256.Sum256(fmt.Append(text, origin.Position))
	if o.Kind == "ConfigSchema" {
		s.Schemas = append(s.Schemas, schemaOf(o, origin))
		return nil
	}
	c := &fleet.ConfigMap{
		Name: o.Metadata.Name, Labels: fleet.MatchingLabels(o.Metadata.Labels), Origin: origin,
		Replace: o.Metadata.Annotations[fleet.MergeAnnotation] == "replace", Store: strings.HasPrefix(o.Metadata.Name, fleet.StorePrefix),
		Expressions: o.Metadata.Annotations[fleet.ValuesAnnotation] == "expressions",
	}
	for i := 0; i+1 < len(o.Data.Content); i += 2 {
		c.Entries = append(c.Entries, fleet.ConfigEntry{Key: o.Data.Content[i].Value, Value: o.Data.Content[i+1]})
	}
	s.Configs = append(s.Configs, c)
	return nil
}

func schemaOf(o object, origin fleet.Origin) *fleet.Schema {
	onMissing := o.Spec.OnMissing
	if onMissing == "" {
		onMissing = v1alpha1.MissingWarn
	}
	labels := fleet.MatchingLabels(o.Metadata.Labels)
	return &fleet.Schema{
		Name: o.Metadata.Name, Labels: labels, Inline: strings.Contains(o.Metadata.Name, "#"),
		Document: o.Spec.Schema, OnMissing: onMissing, Origin: origin,
	}
}

// evalFor executes values with a little of the data that an assignment has.
func evalFor(ct *fleet.ClusterType, t *fleet.Target) Eval {
	return func(text string) (string, error) {
		parsed, err := texttemplate.New("value").Option("missingkey=error").Parse(text)
		if err != nil {
			return "", err
		}
		var out bytes.Buffer
		err = parsed.Execute(&out, map[string]any{"ClusterType": ct.Name, "DeploymentTargetName": t.Name, "Labels": t.Labels})
		return out.String(), err
	}
}

// compose1 composes the configuration of the first target on the first cluster type.
func compose1(tb testing.TB, s *fleet.Snapshot) Result {
	tb.Helper()
	c, _ := NewComposer(s)
	ct, t := s.ClusterTypes[0], s.Targets[0]
	return c.Stack(ct).Compose(t, evalFor(ct, t))
}

// text is the node of a value.
func text(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: value, Line: 1}
}
