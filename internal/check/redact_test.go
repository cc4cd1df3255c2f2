package check

import "testing"

// The name of a key can say that its value is a credential that looks like any other text.
func TestRedactValueKnowsNames(t *testing.T) {
	for _, key := range []string{
		"DB_PASSWORD", "password", "dbPasswd", "PWD", "auth.clientSecret", "TOKEN", "AWS_SECRET_ACCESS_KEY", "api-key", "apikey", "gpg.passphrase",
		"CREDENTIALS", `annotations."example.com/token"`, "users[ada].password",
	} {
		if got := RedactValue(key, "hunter2supersecret"); got != hidden {
			t.Errorf("%s: got %q", key, got)
		}
	}
	for _, key := range []string{
		"PASSWORD_FILE", "secretName", "auth.existingSecret", "imagePullSecret", "tokenURL", "maxTokens", "KEYS", "token.lifetime", "REGION", "",
	} {
		if got := RedactValue(key, "hunter2supersecret"); got != "hunter2supersecret" {
			t.Errorf("%s: got %q", key, got)
		}
	}
	for _, value := range []string{"", "true", "false"} {
		if got := RedactValue("requirePassword", value); got != value {
			t.Errorf("%q: got %q", value, got)
		}
	}
}
