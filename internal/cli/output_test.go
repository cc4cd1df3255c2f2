package cli

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestOutputFormats(t *testing.T) {
	type result struct {
		ClusterType string   `json:"clusterType"`
		Policies    []string `json:"policies"`
	}
	value := &result{"drone <1>", []string{"a", "b"}}
	text := func(w io.Writer) error {
		_, err := fmt.Fprintln(w, "drone by a and b")
		return err
	}
	for format, want := range map[string]string{
		"":     "drone by a and b\n",
		"text": "drone by a and b\n",
		"json": "{\n  \"clusterType\": \"drone <1>\",\n  \"policies\": [\n    \"a\",\n    \"b\"\n  ]\n}\n",
		"yaml": "clusterType: drone <1>\npolicies:\n- a\n- b\n",
	} {
		cmd := &cobra.Command{Use: "show", RunE: func(*cobra.Command, []string) error { return nil }}
		output := OutputFlag(cmd, FormatText, FormatJSON, FormatYAML).Of(result{})
		if format != "" {
			if err := cmd.ParseFlags([]string{"-o", format}); err != nil {
				t.Fatal(err)
			}
		}
		var b strings.Builder
		if err := output.Write(&b, value, text); err != nil || b.String() != want {
			t.Errorf("-o %s: got %q and error %v, want %q", format, b.String(), err, want)
		}
	}
}

func TestOutputRefusesOtherFormats(t *testing.T) {
	cmd := &cobra.Command{Use: "show"}
	OutputFlag(cmd, FormatText, FormatSARIF)
	err := cmd.ParseFlags([]string{"-o", FormatJSON})
	want := `invalid argument "json" for "-o, --output" flag: want text|sarif`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestOutputHasOnlyDeclaredTypes(t *testing.T) {
	cmd := &cobra.Command{Use: "show"}
	output := OutputFlag(cmd, FormatText, FormatJSON).Of(Failure{})
	if err := cmd.ParseFlags([]string{"-o", FormatJSON}); err != nil {
		t.Fatal(err)
	}
	if err := output.Write(io.Discard, []string{"other"}, nil); err == nil {
		t.Error("a type without a schema is written")
	}
	if got := Results(cmd); len(got) != 1 || got[0].Name() != "Failure" {
		t.Errorf("got the results %v", got)
	}
}
