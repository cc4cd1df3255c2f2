package resourcegraph

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Configuration is a Flux configuration of a cluster: properties of microsoft.kubernetesconfiguration/fluxConfigurations.
type Configuration struct {
	// ID is the resource ID. It is in lower case, because Azure compares IDs without case.
	ID string
	// Cluster is the resource ID of its cluster, and Name its own name, as it is written.
	Cluster, Name string
	properties
}

type properties struct {
	Namespace       string `json:"namespace"`
	SourceKind      string `json:"sourceKind"`
	Suspend         bool   `json:"suspend"`
	ComplianceState string `json:"complianceState"`
	ErrorMessage    string `json:"errorMessage"`
	GitRepository   *struct {
		URL           string `json:"url"`
		RepositoryRef *struct {
			Branch string `json:"branch"`
			Tag    string `json:"tag"`
			SemVer string `json:"semver"`
			Commit string `json:"commit"`
		} `json:"repositoryRef"`
	} `json:"gitRepository"`
	Kustomizations map[string]*struct {
		Path string `json:"path"`
	} `json:"kustomizations"`
	// SourceSyncedCommitID is the commit of the source, such as main@sha1:<commit>, since SourceUpdatedAt.
	SourceSyncedCommitID string  `json:"sourceSyncedCommitId"`
	SourceUpdatedAt      instant `json:"sourceUpdatedAt"`
	// StatusUpdatedAt is when the cluster sent the statuses.
	StatusUpdatedAt instant  `json:"statusUpdatedAt"`
	Statuses        []status `json:"statuses"`
}

// status is the state of an object that a configuration created, or that such an object applied.
type status struct {
	Kind            string `json:"kind"`
	Namespace       string `json:"namespace"`
	Name            string `json:"name"`
	ComplianceState string `json:"complianceState"`
	AppliedBy       *struct {
		Name string `json:"name"`
	} `json:"appliedBy"`
	Conditions []condition `json:"statusConditions"`
}

type condition struct {
	Type               string  `json:"type"`
	Status             string  `json:"status"`
	Reason             string  `json:"reason"`
	Message            string  `json:"message"`
	LastTransitionTime instant `json:"lastTransitionTime"`
}

// instant is a time, or zero if there is none.
type instant struct{ time.Time }

// UnmarshalJSON implements [json.Unmarshaler].
func (i *instant) UnmarshalJSON(text []byte) error {
	var written string
	if err := json.Unmarshal(text, &written); err != nil {
		return err
	}
	i.Time = time.Time{}
	if written == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, written)
	if err != nil || at.Year() < 1971 || at.Year() > 9999 {
		return errors.New("not a time")
	}
	i.Time = at.UTC().Truncate(time.Microsecond)
	return nil
}

const (
	maxID = 2048
	// between separates the resource ID of a cluster from what belongs to the cluster.
	between = "/providers/microsoft.kubernetesconfiguration/fluxconfigurations/"
)

// ParseConfiguration reads one object of an answer. On error, the configuration has the ID if that is known. Errors do not quote the
// object.
func ParseConfiguration(row []byte) (Configuration, error) {
	var object struct {
		ID         string          `json:"id"`
		Properties json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(row, &object); err != nil {
		return Configuration{}, errors.New("a Flux configuration has no ID")
	}
	cluster, name, ok := splitID(object.ID)
	if !ok {
		return Configuration{}, errors.New("a Flux configuration has an ID that is not one of a cluster")
	}
	c := Configuration{ID: strings.ToLower(object.ID), Cluster: cluster, Name: name}
	if err := json.Unmarshal(object.Properties, &c.properties); err != nil {
		return Configuration{ID: c.ID}, fmt.Errorf("its properties cannot be read%s", where(err))
	}
	return c, nil
}

// where names the field that an error is about. It contains only names of Go fields.
func where(err error) string {
	var mistaken *json.UnmarshalTypeError
	if errors.As(err, &mistaken) && mistaken.Field != "" {
		return fmt.Sprintf(": %.100s has the wrong type", field(mistaken.Field))
	}
	return ": a field has the wrong form"
}

// field returns the name of a field without keys of maps, which are input.
func field(path string) string {
	first, rest, nested := strings.Cut(path, ".")
	if nested && first != "kustomizations" && code(strings.ReplaceAll(rest, ".", "")) != "" {
		return path
	}
	return first
}

// splitID returns the resource ID of the cluster in the ID of a configuration, in lower case, and the configuration's name.
func splitID(id string) (cluster, name string, ok bool) {
	at := strings.LastIndex(strings.ToLower(id), between)
	if at <= 0 || len(id) > maxID {
		return "", "", false
	}
	cluster, name = strings.ToLower(id[:at]), id[at+len(between):]
	return cluster, name, ClusterID(cluster) && nameOf(name)
}

// ClusterID reports whether a text is the resource ID of a cluster:
// /subscriptions/<ID>/resourceGroups/<name>/providers/<namespace>/<type>/<name>. Case does not matter.
func ClusterID(text string) bool {
	parts := strings.Split(strings.ToLower(text), "/")
	if len(text) > maxID || len(parts) != 9 || parts[0] != "" || parts[1] != "subscriptions" || parts[3] != "resourcegroups" || parts[5] != "providers" {
		return false
	}
	for _, part := range parts[1:] {
		if part == "" || strings.ContainsFunc(part, func(c rune) bool { return c <= ' ' || c > '~' }) {
			return false
		}
	}
	return true
}
