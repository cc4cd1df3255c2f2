package check

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Rules about credentials.
const (
	// RuleSecret is that a text looks like a credential.
	RuleSecret = "secret"
	// RulePlainSecret is that a Secret has its values in plain text, or in base64, which is as plain.
	RulePlainSecret = "plain-secret"
)

// detector has the patterns of gitleaks.
var detector = sync.OnceValues(newPatterns)

// secretHint is what to do about a credential in Git.
const secretHint = "revoke it, since Git keeps it for ever, and let the cluster fetch it from where secrets are kept"

// secrets finds what looks like a credential in a file. What it is, is not part of the findings.
func secrets(file string, data []byte) []Finding {
	shared, err := detector()
	if err != nil {
		// The patterns are part of the program.
		return []Finding{{Rule: RuleSecret, File: file, Message: fmt.Sprintf("read the patterns of credentials: %v", err)}}
	}
	var findings []Finding
	for _, found := range shared.find(string(data)) {
		findings = append(findings, Finding{
			Rule: RuleSecret, File: file, Line: found.StartLine + 1,
			Message: fmt.Sprintf("looks like a credential (%s)", found.RuleID), Hint: secretHint,
		})
	}
	return findings
}

// hidden stands for what looked like a credential.
const hidden = "***"

// authorization is what follows the scheme in a header that shows who asks.
var authorization = regexp.MustCompile(`(?i)(\bauthorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)?|\bbearer)(\s+)[a-z0-9._~+/-]{16,}=*`)

// Redact returns a text, such as the output of a program, without what looks like a credential.
func Redact(text string) string {
	text = authorization.ReplaceAllString(text, "$1$2"+hidden)
	shared, err := detector()
	if err != nil {
		return hidden // the patterns are part of the program
	}
	for _, found := range shared.find(text) {
		if found.Secret != "" {
			text = strings.ReplaceAll(text, found.Secret, hidden)
		}
	}
	return text
}

// plainSecret finds Secrets whose values anybody can read who can read the repository.
func plainSecret(m *manifest) []Finding {
	if m.apiVersion() != "v1" || m.kind() != "Secret" || m.content["sops"] != nil {
		return nil
	}
	for _, field := range []string{"stringData", "data"} {
		if values, _ := m.content[field].(map[string]any); len(values) > 0 {
			return []Finding{m.finding(RulePlainSecret, fieldPath{field}, "has its values in plain text", "encrypt it, or let the cluster fetch it from where secrets are kept")}
		}
	}
	return nil
}
