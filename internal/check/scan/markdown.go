package scan

import (
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

// The bounds of what a text shows, since forges limit the size of a text.
const (
	maxShown = 50
	// maxOutputs is how many results show what the program wrote, each at most maxOutput bytes.
	maxOutputs = 10
	maxOutput  = 2000
)

// Markdown is a section for the text of a change; empty when there was nothing to scan. What programs wrote is shown as it is,
// and cannot become a link, a mention or HTML.
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

// short is a digest as people compare it.
func short(digest string) string { return digest[:min(len("sha256:")+12, len(digest))] }

// fold is the end of an output that unfolds in its item of the list.
func fold(output string) string {
	if len(output) > maxOutput {
		output = strings.ToValidUTF8(output[len(output)-maxOutput:], "")
		if _, rest, lines := strings.Cut(output, "\n"); lines {
			output = rest // what is left of the line before may be half a word
		}
		output = "...\n" + output
	}
	if strings.TrimSpace(output) == "" {
		return ""
	}
	indented := strings.ReplaceAll(markdown.Block("", strings.TrimRight(output, "\n")), "\n", "\n  ")
	return fmt.Sprintf("  <details><summary>output</summary>\n\n  %s\n\n  </details>\n", indented)
}
