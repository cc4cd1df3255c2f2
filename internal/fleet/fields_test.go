package fleet

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// TestDocumentsMirrorTypes checks that document types that are decoded separately have the fields of the API types.
func TestDocumentsMirrorTypes(t *testing.T) {
	for _, pair := range [][2]reflect.Type{
		{reflect.TypeFor[schemaDocument](), reflect.TypeFor[v1alpha1.ConfigSchema]()},
		{reflect.TypeOf(schemaDocument{}.Spec), reflect.TypeFor[v1alpha1.ConfigSchemaSpec]()},
		{reflect.TypeFor[templateDocument](), reflect.TypeFor[v1alpha1.Template]()},
		{reflect.TypeOf(templateDocument{}.Spec), reflect.TypeFor[v1alpha1.TemplateSpec]()},
	} {
		got := slices.Sorted(maps.Keys(fieldsOf(pair[0])))
		want := slices.Sorted(maps.Keys(fieldsOf(pair[1])))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v has other fields than %v (-want +got):\n%s", pair[0], pair[1], diff)
		}
	}
}
