package main

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// schemaBase is the URL of the folder with the schemas; the base of each "$id".
const schemaBase = "https://raw.githubusercontent.com/kalypso-io/kalypso/main/docs/schemas/"

// schema is a JSON Schema of draft 7, the one that yaml-language-server supports best. Maps are printed with sorted
// keys, so that the output is reproducible.
type schema map[string]any

// kind is a resource kind with the schema of its CustomResourceDefinition.
type kind struct {
	Name       string
	APIVersion string
	Schema     *apiextensionsv1.JSONSchemaProps
	// SchemaName is the name of its schema; see nameSchemas.
	SchemaName string
}

// exactlyOneOf lists, by kind, the fields of which a spec must have exactly one. CEL rules cannot express this,
// because CEL has no access to fields of any type.
var exactlyOneOf = map[string][]string{"Template": {"chart", "manifests"}}

// document returns the schema of a whole document of the kind. The status is unrestricted: only programs write it,
// and it is never in Git.
func (k kind) document() schema {
	required := []string{"apiVersion", "kind", "metadata"}
	specRequired := slices.Contains(k.Schema.Required, "spec")
	if specRequired {
		required = append(required, "spec")
	}
	spec := convert(k.Schema.Properties["spec"], !specRequired)
	if fields := exactlyOneOf[k.Name]; fields != nil {
		exactlyOne(spec, fields...)
	}
	return schema{
		"title":                k.Name,
		"description":          k.Schema.Description,
		"type":                 "object",
		"required":             required,
		"additionalProperties": false,
		"properties": schema{
			"apiVersion": schema{"const": k.APIVersion, "description": "Group and version of the kind."},
			"kind":       schema{"const": k.Name, "description": "The kind of the document."},
			"metadata":   k.metadata(),
			"spec":       spec,
			"status":     schema{"type": "object", "description": "Written by machines; never in Git."},
		},
	}
}

// metadata returns the schema of the part of Kubernetes' object metadata that
// users write, so that a misspelled "labels" is shown.
func (k kind) metadata() schema {
	name := schema{
		"description": "Name of the object, unique among its kind in an environment.",
		"type":        "string",
		"minLength":   1,
		"maxLength":   253,
		"pattern":     `^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`,
	}
	if isNamedByLabel(k.Schema) {
		name["maxLength"] = 63
		name["pattern"] = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	}
	return schema{
		"type":                 "object",
		"required":             []string{"name"},
		"additionalProperties": false,
		"properties": schema{
			"name":              name,
			"namespace":         schema{"type": "string", "description": "Namespace, where the document is applied to Kubernetes."},
			"labels":            stringMap("Labels that policies and platform configuration select."),
			"annotations":       stringMap("Annotations; Kalypso does not read them."),
			"finalizers":        schema{"type": "array", "items": schema{"type": "string"}},
			"creationTimestamp": schema{"type": []string{"string", "null"}},
		},
	}
}

func stringMap(description string) schema {
	return schema{
		"description":          description,
		"type":                 []string{"object", "null"},
		"additionalProperties": schema{"type": "string"},
	}
}

// together returns one schema for all kinds, for editors that use one schema per folder. It uses "if" instead of
// "oneOf", so that editors report errors within the kind, and ConfigMaps and other documents pass.
func together(kinds []kind) schema {
	definitions := schema{}
	var choices []schema
	names := map[string][]string{}
	for _, k := range kinds {
		definitions[k.SchemaName] = k.document()
		names[k.APIVersion] = append(names[k.APIVersion], k.Name)
		choices = append(choices, schema{
			"if":   having(schema{"apiVersion": schema{"const": k.APIVersion}, "kind": schema{"const": k.Name}}),
			"then": schema{"$ref": "#/definitions/" + k.SchemaName},
		})
	}
	for _, apiVersion := range sortedKeys(names) {
		choices = append(choices, schema{
			"if":   having(schema{"apiVersion": schema{"const": apiVersion}}),
			"then": having(schema{"kind": schema{"enum": names[apiVersion]}}),
		})
	}
	return schema{
		"title":       "Kalypso documents",
		"description": "Any document of a control plane, checked by its kind.",
		"type":        "object",
		"definitions": definitions,
		"allOf":       choices,
	}
}

// having returns the schema of objects with the given properties.
func having(properties schema) schema {
	return schema{"properties": properties, "required": sortedKeys(properties)}
}
