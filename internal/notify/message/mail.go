package message

import (
	"fmt"
	"strings"
)

// Mail returns the subject and the plain text of an e-mail.
func Mail(e Event, server string) (subject, text string) {
	var b strings.Builder
	fmt.Fprintln(&b, e.Title())
	if why := e.reason(); why != "" {
		fmt.Fprintf(&b, "\n%s\n", why)
	}
	fmt.Fprintln(&b)
	for _, f := range e.facts() {
		fmt.Fprintf(&b, "%-12s %s\n", f.name+":", f.value)
	}
	if page := e.Page(server); page != "" {
		fmt.Fprintf(&b, "\n%s\n", page)
	}
	return cut("[kalypso] "+e.Title(), 200), b.String()
}
