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

// The lines of a difference hide what their keys call a credential.
func TestRedactYAMLKnowsNames(t *testing.T) {
	const diff = `@@ -1,9 +1,9 @@
 data:
-  DB_PASSWORD: hunter2
+  DB_PASSWORD: "hunter3" # since May
+  "api-key": plain
   tokenURL: https://login.example.com
+  - clientSecret: word
   token: |
     many lines
   secret: {secretName: x}
   automountServiceAccountToken: false
         env:
-        - name: DB_PASSWORD
-          value: hunter4
+        - name: REGION
+          value: west
`
	const want = `@@ -1,9 +1,9 @@
 data:
-  DB_PASSWORD: ***
+  DB_PASSWORD: ***
+  "api-key": ***
   tokenURL: https://login.example.com
+  - clientSecret: ***
   token: |
     many lines
   secret: {secretName: x}
   automountServiceAccountToken: false
         env:
-        - name: DB_PASSWORD
-          value: ***
+        - name: REGION
+          value: west
`
	if got := RedactYAML(diff); got != want {
		t.Errorf("got %s", got)
	}
}
