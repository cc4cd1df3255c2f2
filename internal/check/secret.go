package check

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
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
	all, complete := shared.find(string(data))
	for _, found := range all {
		findings = append(findings, Finding{
			Rule: RuleSecret, File: file, Line: found.line + 1,
			Message: fmt.Sprintf("looks like a credential (%s)", found.rule), Hint: secretHint,
		})
	}
	if !complete {
		findings = append(findings, Finding{
			Rule: RuleSecret, File: file,
			Message: fmt.Sprintf("has more than %d texts that can be credentials, and the others were not examined", maxMatches), Hint: "divide the file",
		})
	}
	return findings
}

// CredentialIn returns the finding about the value of a key, as in a file with the line "key: value"; false if it does not look like a credential.
func CredentialIn(key, value string) (Finding, bool) {
	findings := secrets("", []byte(key+": "+value))
	if len(findings) == 0 {
		return Finding{}, false
	}
	return findings[0], true
}

// hidden replaces credentials.
const hidden = "***"

// authorization matches a credential after the scheme in an Authorization header.
var authorization = regexp.MustCompile(`(?i)(\bauthorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)?|\bbearer)(\s+)[a-z0-9._~+/-]{16,}=*`)

// urlPassword matches the password in a URL. It can contain "@", but no "/".
var urlPassword = regexp.MustCompile(`(://[^/\s"':@]*:)[^/\s"']+@`)

// Redact replaces everything in a text that looks like a credential, and the passwords of URLs. It replaces the whole text if that has more than
// [maxMatches].
func Redact(text string) string {
	text = authorization.ReplaceAllString(text, "$1$2"+hidden)
	text = urlPassword.ReplaceAllString(text, "${1}"+hidden+"@")
	shared, err := credentials()
	if err != nil {
		return hidden // cannot happen: the patterns are embedded
	}
	all, complete := shared.find(text)
	if !complete {
		return hidden
	}
	secrets := map[string]bool{}
	for _, found := range all {
		if found.secret != "" {
			secrets[found.secret] = true
		}
	}
	// The longest first, so that no part of one is left because it contains another.
	for _, secret := range slices.SortedFunc(maps.Keys(secrets), func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) }) {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	return text
}

// yamlValue matches a value on the line of its key, and envValue that of an environment variable, on the line after its name. Both may be
// lines of a difference.
var (
	yamlValue = regexp.MustCompile(`(?m)^([-+ ]? *(?:- +)*["']?)([\w./-]+)(["']?: +)([^\s].*)$`)
	envValue  = regexp.MustCompile(`(?m)^([-+ ]? *(?:- +)*name: +["']?)([\w.-]+)(["']? *\n[-+ ]? *value: +)([^\s].*)$`)
)

// RedactYAML is [Redact] for YAML, and for differences of it: it also hides the values of keys and environment variables whose name says
// that they are a credential, as [RedactValue] does.
func RedactYAML(text string) string {
	for _, pattern := range []*regexp.Regexp{yamlValue, envValue} {
		text = pattern.ReplaceAllStringFunc(text, func(found string) string {
			part := pattern.FindStringSubmatch(found)
			if !namesCredential(part[2]) || notSecret.MatchString(part[4]) {
				return found
			}
			return part[1] + part[2] + part[3] + hidden
		})
	}
	return Redact(text)
}

// notSecret matches values in YAML that have nothing to hide, or that are on other lines.
var notSecret = regexp.MustCompile(`^(true|false|null|~|""|''|[|>][-+0-9]*|#.*|[{\[&*].*)\s*$`)

// RedactValue is [Redact] for the value of a key. If the name of the key says that the value is a credential, as DB_PASSWORD and
// auth.clientSecret do, the value is hidden whatever it looks like, unless it is empty, true or false.
func RedactValue(key, value string) string {
	switch {
	case value == "" || value == "true" || value == "false":
		return value
	case namesCredential(key):
		return hidden
	}
	prefix := key + ": "
	text, ok := strings.CutPrefix(Redact(prefix+value), prefix)
	if !ok {
		return hidden // the key itself looks like a credential
	}
	return text
}

// credentialName matches the end of a key whose value is a credential. "Existing" and pull secrets of charts are names of a Secret.
var (
	credentialName = regexp.MustCompile(`(?i)(passw(or)?d|passphrase|passwd|pwd|secret|token|credentials?|(api|access|private|secret|account|signing|encryption)[_-]?key)$`)
	secretName     = regexp.MustCompile(`(?i)(existing|pull)[_-]?secret$`)
)

// namesCredential reports whether the last part of a dotted key is the name of a credential.
func namesCredential(key string) bool {
	key = strings.TrimRight(key, `"]`)
	return credentialName.MatchString(key) && !secretName.MatchString(key)
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
