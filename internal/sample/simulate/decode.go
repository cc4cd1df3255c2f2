package simulate

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	yamldocuments "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// decode returns the objects in a file of YAML documents.
func decode(data []byte) ([]*unstructured.Unstructured, error) {
	documents := yamldocuments.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	var all []*unstructured.Unstructured
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		objects, err := decodeDocument(document)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
}

// decodeDocument returns the object in a document, the items of a list, or nothing for an empty document.
func decodeDocument(document []byte) ([]*unstructured.Unstructured, error) {
	text, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, fmt.Errorf("convert YAML to JSON: %w", err)
	}
	if string(text) == "null" {
		return nil, nil
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	if !u.IsList() {
		return []*unstructured.Unstructured{u}, named(u)
	}
	var all []*unstructured.Unstructured
	err = u.EachListItem(func(o runtime.Object) error {
		item, ok := o.(*unstructured.Unstructured)
		if !ok || item.IsList() {
			return fmt.Errorf("a list in a list")
		}
		all = append(all, item)
		return named(item)
	})
	return all, err
}

func named(u *unstructured.Unstructured) error {
	if u.GetName() == "" {
		return fmt.Errorf("missing metadata.name in object {%s}", u.GroupVersionKind())
	}
	return nil
}
