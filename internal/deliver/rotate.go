package deliver

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
)

// Rotation is a change of a Delivery, after which the Job makes the values of a Secret again.
type Rotation struct {
	Secret   string `json:"secret"`
	Rotation int    `json:"rotation"`
	// File is the file of the Delivery in the source.
	File string `json:"file"`
}

// Rotate returns the file of the Delivery with another rotation of a Secret. content is the file as it is.
func (a *Application) Rotate(secret string, content []byte) (*Rotation, []byte, error) {
	entry, err := a.made(secret)
	if err != nil {
		return nil, nil, err
	}
	r := &Rotation{Secret: secret, File: a.DeliveryAt.File, Rotation: entry.Rotation + 1}
	document, err := documentAt(content, a.DeliveryAt.Line)
	if err != nil {
		return nil, nil, err
	}
	fields := [][2]string{{"rotation", strconv.Itoa(r.Rotation)}}
	if entry.Name == "" { // the new entry has all that the one without a name has
		fields = append([][2]string{{"from", string(entry.From)}, {"image", entry.Image}}, fields...)
	}
	for _, field := range fields {
		value, err := editing.Value(field[1])
		if err != nil {
			return nil, nil, fmt.Errorf("write %s of %s: %w", field[0], secret, err)
		}
		if content, err = editing.Set(content, document, []string{"spec", "secrets", "[" + secret + "]", field[0]}, value); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", r.File, err)
		}
	}
	return r, content, nil
}

// made returns the entry of the Delivery by which a Job makes a Secret.
func (a *Application) made(secret string) (app.ChartSecret, error) {
	var jobs []string
	for _, name := range []string{secret, ""} {
		for _, entry := range a.Delivery.Spec.Secrets {
			if entry.Name == name && entry.From == app.FromJob {
				return entry, nil
			}
			if entry.From == app.FromJob && entry.Name != "" && !slices.Contains(jobs, entry.Name) {
				jobs = append(jobs, entry.Name)
			}
		}
	}
	switch near := fleet.Nearest(secret, jobs); {
	case len(jobs) == 0:
		return app.ChartSecret{}, errors.New("spec.secrets of the Delivery has no entry with from: Job; only a Job makes values again")
	case near != "":
		return app.ChartSecret{}, fmt.Errorf("no Job makes the Secret %s; did you mean %s?", secret, near)
	default:
		return app.ChartSecret{}, fmt.Errorf("no Job makes the Secret %s; it makes %s", secret, strings.Join(jobs, ", "))
	}
}

// documentAt returns the index of the YAML document that begins at a line.
func documentAt(content []byte, line int) (int, error) {
	documents, _, err := fleet.ParseYAML(content, maxFileDocuments)
	if err != nil {
		return 0, fmt.Errorf("read the Delivery: %w", err)
	}
	is := func(n *yaml.Node) bool { return len(n.Content) > 0 && n.Content[0].Line == line }
	if i := slices.IndexFunc(documents, is); i >= 0 {
		return i, nil
	}
	return 0, errors.New("the Delivery is not where the commit has it: commit your changes first")
}

// maxFileDocuments is the maximum number of documents in the file of a Delivery.
const maxFileDocuments = 1000
