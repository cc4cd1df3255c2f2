package fleet

import (
	"go.yaml.in/yaml/v3"
)

// definitionGroup is the API group of definitions of custom resources.
const definitionGroup = "apiextensions.k8s.io"

// Definition is a CustomResourceDefinition of the control plane: manifests of its kinds are checked with it.
type Definition struct {
	Name string
	// Document is the definition as YAML. What is wrong with it shows when something is checked with it.
	Document []byte
	Origin
}

func (c *Definition) ref() Ref                    { return Ref{Kind: kindDefinition, Name: c.Name} }
func (c *Definition) labelled() map[string]string { return nil }

// decodeDefinition keeps a definition as it is.
func decodeDefinition(d *decoder, root *yaml.Node) any {
	document, err := yaml.Marshal(root)
	if err != nil {
		d.fail(KindInvalidValue, root, "", "the definition cannot be read: %v", err)
	}
	return &Definition{Name: d.object.Name, Document: document}
}
