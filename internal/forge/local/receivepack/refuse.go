package receivepack

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Refuse writes the answer to a refused push. reasons maps references to reasons; the push's other commands
// are refused because of these. advice is a message for users and can be empty.
// Refuse returns false and writes nothing if the client does not support such an answer.
func (r Request) Refuse(w io.Writer, reasons map[string]string, advice string) (bool, error) {
	if !slices.Contains(r.Capabilities, "report-status") && !slices.Contains(r.Capabilities, "report-status-v2") {
		return false, nil
	}
	var report strings.Builder
	line(&report, "unpack ok\n")
	for _, c := range r.Commands {
		reason, ok := reasons[c.Ref]
		if !ok {
			reason = "not done, because another reference was refused"
		}
		line(&report, "ng "+c.Ref+" "+oneLine(reason)+"\n")
	}
	report.WriteString("0000")
	if !slices.Contains(r.Capabilities, "side-band-64k") {
		_, err := io.WriteString(w, report.String())
		return true, err
	}
	return true, sideBand(w, report.String(), advice)
}

// sideBand wraps a report in the first channel, and advice in the second, which clients print.
func sideBand(w io.Writer, report, advice string) error {
	const most = 65000
	var answer strings.Builder
	if advice != "" {
		line(&answer, "\x02"+advice+"\n")
	}
	for len(report) > 0 {
		n := min(len(report), most)
		line(&answer, "\x01"+report[:n])
		report = report[n:]
	}
	answer.WriteString("0000")
	_, err := io.WriteString(w, answer.String())
	return err
}

func line(w io.Writer, text string) { fmt.Fprintf(w, "%04x%s", len(text)+4, text) }

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
