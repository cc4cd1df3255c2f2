package scan

import (
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

// Limits of a section, because forges limit the size of a text.
const (
	maxShown = 50
	// maxOutputs is the maximum number of results shown with their output,
	// maxOutput the maximum size of each output in bytes.
	maxOutputs = 10
	maxOutput  = 2000
)

// Markdown returns a section for a pull request's text; empty if there are no results. Program output is shown
// verbatim, and cannot become a link, a mention or HTML.
func Markdown(results []Result) string {
	if len(results) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n#### Scans: %s\n\n", Summary(results))
	for i, r := range results {
		if i == maxShown {
			fmt.Fprintf(&b, "- and %d more\n", len(results)-maxShown)
			break
		}
		b.WriteString(r.markdown())
		if i < maxOutputs {
			b.WriteString(fold(r.Output))
		}
	}
	return b.String()
}

func (r Result) markdown() string {
	text := "- **" + string(r.State) + "** "
	if r.State == Found {
		text = "- **" + string(r.Level) + "** "
	}
	text += markdown.Code(r.Scan) + " of " + markdown.Code(r.Reference)
	if r.Digest != "" && !strings.HasSuffix(r.Reference, r.Digest) {
		text += " (" + markdown.Code(short(r.Digest)) + ")"
	}
	if r.Reason != "" {
		text += ": " + markdown.Escape(r.Reason)
	}
	return text + "\n"
}

// short abbreviates a digest for display.
func short(digest string) string { return digest[:min(len("sha256:")+12, len(digest))] }

// fold returns the end of an output as a folded block within a list item.
func fold(output string) string {
	if len(output) > maxOutput {
		output = strings.ToValidUTF8(output[len(output)-maxOutput:], "")
		if _, rest, lines := strings.Cut(output, "\n"); lines {
			output = rest // drop the first line, which may be incomplete
		}
		output = "...\n" + output
	}
	if strings.TrimSpace(output) == "" {
		return ""
	}
	indented := strings.ReplaceAll(markdown.Block("", strings.TrimRight(output, "\n")), "\n", "\n  ")
	return fmt.Sprintf("  <details><summary>output</summary>\n\n  %s\n\n  </details>\n", indented)
}
