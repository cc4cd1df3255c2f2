package check

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Rules about credentials.
const (
	// RuleSecret is the rule that texts must not look like credentials.
	RuleSecret = "secret"
	// RulePlainSecret is the rule that the values of a Secret must be encrypted, not plain text or base64.
	RulePlainSecret = "plain-secret"
)

// credentials detects them with the patterns of gitleaks.
var credentials = sync.OnceValues(newPatterns)

const secretHint = "revoke it, because it stays in the history of Git, and let the cluster fetch it from a secret store"

// secrets returns a finding for each text in a file that looks like a credential, without the text itself.
func secrets(file string, data []byte) []Finding {
	shared, err := credentials()
	if err != nil {
		// Cannot happen: the patterns are embedded.
		return []Finding{{Rule: RuleSecret, File: file, Message: fmt.Sprintf("read the patterns of credentials: %v", err)}}
	}
	var findings []Finding
	for _, found := range shared.find(string(data)) {
		findings = append(findings, Finding{
			Rule: RuleSecret, File: file, Line: found.line + 1,
			Message: fmt.Sprintf("looks like a credential (%s)", found.rule), Hint: secretHint,
		})
	}
	return findings
}

// hidden replaces credentials.
const hidden = "***"

// authorization matches a credential after the scheme in an Authorization header.
var authorization = regexp.MustCompile(`(?i)(\bauthorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)?|\bbearer)(\s+)[a-z0-9._~+/-]{16,}=*`)

// urlPassword matches the password in a URL. It can contain "@", but no "/".
var urlPassword = regexp.MustCompile(`(://[^/\s"':@]*:)[^/\s"']+@`)

// Redact replaces everything in a text that looks like a credential, and the passwords of URLs.
func Redact(text string) string {
	text = authorization.ReplaceAllString(text, "$1$2"+hidden)
	text = urlPassword.ReplaceAllString(text, "${1}"+hidden+"@")
	shared, err := credentials()
	if err != nil {
		return hidden // cannot happen: the patterns are embedded
	}
	for _, found := range shared.find(text) {
		if found.secret != "" {
			text = strings.ReplaceAll(text, found.secret, hidden)
		}
	}
	return text
}

// RedactValue is [Redact] for the value of a key, whose name tells what the value is.
func RedactValue(key, value string) string {
	prefix := key + ": "
	text, ok := strings.CutPrefix(Redact(prefix+value), prefix)
	if !ok {
		return hidden // the key itself looks like a credential
	}
	return text
}

// plainSecret reports a Secret whose values are not encrypted.
func plainSecret(m *manifest) []Finding {
	if m.apiVersion() != "v1" || m.kind() != "Secret" || m.content["sops"] != nil {
		return nil
	}
	for _, field := range []string{"stringData", "data"} {
		if values, _ := m.content[field].(map[string]any); len(values) > 0 {
			return []Finding{m.finding(RulePlainSecret, fieldPath{field}, "has its values in plain text", "encrypt it, or let the cluster fetch it from a secret store")}
		}
	}
	return nil
}
