package wiring

import (
	"reflect"
	"strings"

	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/text/secret"
	"github.com/kalypso-io/kalypso/internal/text/secret/secretfile"
)

// environmentSecrets are the environment variables with credentials that no configuration names.
var environmentSecrets = []string{
	"KALYPSO_GIT_TOKEN", "KALYPSO_GIT_PASSWORD", "KALYPSO_SIGNING_PASSPHRASE", remote.EnvPassword,
	"GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "CI_JOB_TOKEN", "PGPASSWORD",
}

// Secrets returns all credentials that a server uses, to hide them in logs: those in the environment variables and files that its
// configuration names. A file that cannot be read is left out: the code that needs it reports it.
func Secrets(config *serve.Config, env map[string]string) []secret.Value {
	var secrets []secret.Value
	variable := func(name string) { secrets = append(secrets, secret.New(strings.TrimSpace(env[name]))) }
	for _, name := range environmentSecrets {
		variable(name)
	}
	credentials(reflect.ValueOf(config), variable, func(file string) {
		kept, err := secretfile.Value(file)
		if err != nil {
			return
		}
		secrets = append(secrets, kept)
		const least = 24 // a shorter line of a key does not tell it
		for line := range strings.Lines(kept.Reveal()) {
			if line = strings.TrimSpace(line); len(line) >= least && !strings.HasPrefix(line, "-----") {
				secrets = append(secrets, secret.New(line))
			}
		}
	})
	return secrets
}

// credentials calls variable and file with what each field of a configuration names, at any depth: a field whose name ends in Env names an
// environment variable with a credential, and one whose name ends in File a file. A test keeps other names away from credentials.
func credentials(v reflect.Value, variable, file func(name string)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			credentials(v.Elem(), variable, file)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			credentials(v.Index(i), variable, file)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			credentials(v.MapIndex(key), variable, file)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name, value := v.Type().Field(i).Name, v.Field(i)
			switch {
			case value.Kind() != reflect.String:
				credentials(value, variable, file)
			case value.String() == "":
			case strings.HasSuffix(name, "Env"):
				variable(value.String())
			case strings.HasSuffix(name, "File"):
				file(value.String())
			}
		}
	}
}
