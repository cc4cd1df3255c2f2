package simulate

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/scheme"
)

// key names an object of a cluster.
type key struct{ group, kind, namespace, name string }

func (k key) String() string {
	if k.namespace == "" {
		return k.kind + "/" + k.name
	}
	return k.kind + "/" + k.namespace + "/" + k.name
}

func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.group, o.group), cmp.Compare(k.kind, o.kind), cmp.Compare(k.namespace, o.namespace), cmp.Compare(k.name, o.name))
}

// manifest is an object as it is in Git. Clusters share it: do not modify it.
type manifest struct {
	key
	gvk    schema.GroupVersionKind
	fields fields
	digest [sha256.Size]byte
	// builtin is its kind, if Kubernetes has it built in.
	builtin   kind
	isBuiltin bool
	// refusal says why every API server refuses it; it follows the object in messages. Empty if valid.
	refusal string
}

func newManifest(u *unstructured.Unstructured) (*manifest, error) {
	text, err := json.Marshal(u.Object)
	if err != nil {
		return nil, err
	}
	gvk := u.GroupVersionKind()
	m := &manifest{
		key: key{gvk.Group, gvk.Kind, u.GetNamespace(), u.GetName()},
		gvk: gvk, fields: u.Object, digest: sha256.Sum256(text),
	}
	if m.builtin, m.isBuiltin = builtin(gvk); m.isBuiltin && !m.builtin.namespaced {
		m.namespace = ""
	}
	if m.refusal = badName(m.key); m.refusal == "" {
		m.refusal = wrongType(gvk, u.Object, text)
	}
	if m.refusal == "" {
		m.refusal = againstDefinition(m)
	}
	return m, nil
}

func badName(k key) string {
	if k.group == "rbac.authorization.k8s.io" {
		return "" // there nearly everything is allowed
	}
	check := validation.IsDNS1123Subdomain
	if k.kind == "Namespace" {
		check = validation.IsDNS1123Label
	}
	if problems := check(k.name); len(problems) > 0 {
		return invalid(k, fmt.Sprintf("metadata.name: Invalid value: %q: %s", k.name, problems[0]))
	}
	return ""
}

func invalid(k key, what string) string {
	name := k.kind
	if k.group != "" {
		name += "." + k.group
	}
	return fmt.Sprintf(" (Invalid): %s %q is invalid: %s", name, k.name, what)
}

// wrongType says which field of a built-in kind does not exist or has the wrong type.
func wrongType(gvk schema.GroupVersionKind, object map[string]any, text []byte) string {
	typed, err := scheme.Scheme.New(gvk)
	if err != nil {
		return ""
	}
	subject := fmt.Sprintf("failed to create typed patch object (%s; %s): ", objectName(object), gvk)
	if err := json.Unmarshal(text, typed); err != nil {
		return ": " + subject + err.Error()
	}
	typed, _ = scheme.Scheme.New(gvk)
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, typed, true)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		unknown := strings.TrimSuffix(strings.TrimPrefix(strict.Errors()[0].Error(), `unknown field "`), `"`)
		return ": " + subject + "." + unknown + ": field not declared in schema"
	}
	return ""
}

func objectName(object fields) string {
	return strings.TrimPrefix(object.text("metadata", "namespace")+"/"+object.text("metadata", "name"), "/")
}

// required are the fields that the CRDs of the reconcilers require.
var required = map[string][][]string{
	"GitRepository":  {{"spec", "interval"}, {"spec", "url"}},
	"OCIRepository":  {{"spec", "interval"}, {"spec", "url"}},
	"HelmRepository": {{"spec", "url"}},
	"Kustomization":  {{"spec", "interval"}, {"spec", "prune"}, {"spec", "sourceRef"}},
	"HelmRelease":    {{"spec", "interval"}},
	"Application":    {{"spec", "destination"}, {"spec", "project"}},
}

// protocols are the URL schemes of Flux sources.
var protocols = map[string][]string{
	"GitRepository": {"http", "https", "ssh"}, "OCIRepository": {"oci"}, "HelmRepository": {"http", "https", "oci"},
}

// againstDefinition checks objects of the reconcilers as their CRDs do.
func againstDefinition(m *manifest) string {
	switch m.group {
	case sourceGroup, kustomizeGroup, helmGroup, argoGroup:
	default:
		return ""
	}
	for _, path := range required[m.kind] {
		if m.fields.at(path...) == nil {
			return invalid(m.key, strings.Join(path, ".")+": Required value")
		}
	}
	if allowed := protocols[m.kind]; len(allowed) > 0 && m.group == sourceGroup {
		url := m.fields.text("spec", "url")
		if !hasProtocol(url, allowed) {
			return invalid(m.key, fmt.Sprintf("spec.url: Invalid value: %q: spec.url in body should match '^(%s)://.*$'", url, strings.Join(allowed, "|")))
		}
	}
	return ""
}

func hasProtocol(url string, allowed []string) bool {
	for _, protocol := range allowed {
		if strings.HasPrefix(url, protocol+"://") {
			return true
		}
	}
	return false
}
