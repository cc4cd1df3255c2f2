package bundle

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// SentSecret is a Secret that a reconciler sends to a URL, to read what it applies.
type SentSecret struct {
	Name string `json:"name"`
	// Namespace is that of the reconciler's object. Empty means that the cluster decides it.
	Namespace string `json:"namespace,omitempty"`
	URL       string `json:"url"`
}

// String returns "Secret namespace/name to URL", without credentials in the URL.
func (s SentSecret) String() string { return s.Secret() + " to " + secret.Redact(s.URL) }

// Secret returns "Secret namespace/name".
func (s SentSecret) Secret() string {
	return Object{Kind: "Secret", Namespace: s.Namespace, Name: s.Name}.String()
}

// SentSecrets returns the Secrets of other namespaces than the given one that the sources of Flux and the GitRepos of Rancher Fleet in a
// text name, up to the first document that is not YAML.
func SentSecrets(text []byte, namespace string) []SentSecret {
	if !bytes.Contains(text, []byte(fluxSource)) && !bytes.Contains(text, []byte(rancherFleet)) {
		return nil
	}
	// The name of each field contains this, unless it is written with escapes. Parsing each file would take as long as rendering it.
	if !bytes.Contains(text, []byte("ecret")) && !bytes.Contains(text, []byte(`\`)) {
		return nil
	}
	var all []SentSecret
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var s source
		var wrongType *yaml.TypeError // the rest of the document was decoded
		if err := decoder.Decode(&s); err != nil && !errors.As(err, &wrongType) {
			return all
		}
		all = s.appendTo(all, namespace)
	}
}

// source is an object that a reconciler reads a repository with, or a List.
type source struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Namespace string }
	Spec       struct {
		URL, Endpoint, Repo string
		SecretRef           struct{ Name string } `yaml:"secretRef"`
		ClientSecretName    string                `yaml:"clientSecretName"`
		HelmSecretName      string                `yaml:"helmSecretName"`
		HelmSecretForPaths  string                `yaml:"helmSecretNameForPaths"`
	}
	Items []source
}

func (s source) appendTo(all []SentSecret, namespace string) []SentSecret {
	if strings.HasSuffix(s.Kind, "List") {
		for _, item := range s.Items {
			all = item.appendTo(all, namespace)
		}
	}
	group, _, _ := strings.Cut(s.APIVersion, "/")
	if group != fluxSource && group != rancherFleet || s.Metadata.Namespace == namespace {
		return all
	}
	for _, name := range []string{s.Spec.SecretRef.Name, s.Spec.ClientSecretName, s.Spec.HelmSecretName, s.Spec.HelmSecretForPaths} {
		if name != "" {
			all = append(all, SentSecret{name, s.Metadata.Namespace, cmp.Or(s.Spec.URL, s.Spec.Endpoint, s.Spec.Repo)})
		}
	}
	return all
}

// secrets returns a problem if the target of an assignment names a Secret in another namespace, and no grant allows it: an application that
// can name both a Secret and a repository can have the credentials sent to itself. Secrets that templates name are the platform team's decision.
func (f *folderBuild) secrets(s *step) *fleet.Problem {
	named := map[string]bool{}
	for _, value := range s.target.Manifests {
		named[strings.TrimSpace(value)] = true
	}
	for _, file := range s.assignment.Files {
		for _, sent := range SentSecrets(file.Content(), s.data.Namespace) {
			if !named[sent.Name] || fleet.AllowsSecret(s.grants, sent.Name, sent.URL) {
				continue
			}
			return &fleet.Problem{
				Severity: fleet.SeverityError, Kind: fleet.KindSecretNotGranted, Assignment: s.assignment.Name(),
				Object: fleet.Ref{Kind: "DeploymentTarget", Name: s.target.Name}, Position: s.target.Position,
				Message: "it would send " + sent.String() + ", which no Grant allows",
				Hint: fmt.Sprintf("ask the platform team for a Grant of workspace %q with this Secret and the beginning of this URL in spec.secrets, or keep the Secret in the namespace of the assignment",
					s.target.Workspace),
			}
		}
	}
	return nil
}
