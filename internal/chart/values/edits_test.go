package values

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
)

// TestTextOverAMapIsItsEdit because it removes the values in it that other files have.
func TestTextOverAMapIsItsEdit(t *testing.T) {
	schema, err := CompileSchema(fleet.Position{File: "schema.json"}, []byte(`{"properties": {"db": {"properties": {"password": {"editableBy": ["dba"]}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	is, wrong := Parse("config", "dev/values.yaml", []byte("db: none\nother: x\n"))
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	problems := editing.Judge(editing.Author{Name: "ben"}, Edits(nil, is), func(editing.Edit) []*editing.Rule { return []*editing.Rule{schema.Rule()} })
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "db.password in it is editable by dba only") {
		t.Errorf("got %v", problems)
	}
}
