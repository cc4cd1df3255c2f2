package wiring

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// fields calls what with each text of a configuration type, at any depth, after it has made one element of each list and map.
func fields(v reflect.Value, path string, what func(path, name string, v reflect.Value)) {
	if !strings.Contains(v.Type().PkgPath(), "kalypso") && v.Kind() == reflect.Struct {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fields(v.Elem(), path, what)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fields(v.Index(0), path, what)
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		fields(value, path, what)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.Zero(v.Type().Key()), value)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				if at := path + "." + f.Name; v.Field(i).Kind() == reflect.String {
					what(at, f.Name, v.Field(i))
				} else {
					fields(v.Field(i), at, what)
				}
			}
		}
	}
}

// TestSecretsAreComplete: each environment variable and file that a configuration can name is hidden in the log, and no field is called
// like a credential without saying which of both it is.
func TestSecretsAreComplete(t *testing.T) {
	dir := t.TempDir()
	config, env, want := &serve.Config{}, map[string]string{}, map[string]string{}
	credential := regexp.MustCompile(`(?i)(token|secret|password|passphrase|privatekey|signingkey|deliverykey)`)
	fields(reflect.ValueOf(config).Elem(), "", func(path, name string, v reflect.Value) {
		text := fmt.Sprintf("credential-number-%d-of-the-server", len(want))
		switch {
		case strings.HasSuffix(name, "Env"):
			v.SetString("VARIABLE" + strings.ReplaceAll(path, ".", "_"))
			env[v.String()] = text
		case strings.HasSuffix(name, "File"):
			v.SetString(filepath.Join(dir, strings.ReplaceAll(path, ".", "_")))
			content := "-----BEGIN PRIVATE KEY-----\n" + text + "\n-----END PRIVATE KEY-----\n"
			if err := os.WriteFile(v.String(), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		case credential.MatchString(name):
			t.Errorf("%s: call it %sEnv or %sFile, so that the log hides what it names", path, name, name)
			return
		default:
			return
		}
		want[path] = text
	})
	for _, path := range []string{".Verify.Credentials.TokenEnv", ".Verify.Credentials.PasswordEnv", ".SigningKeyFile", ".Forges.App.PrivateKeyFile"} {
		if want[path] == "" {
			t.Errorf("%s is not among the %d fields of the configuration", path, len(want))
		}
	}
	hide := secret.Hider(Secrets(config, env)...)
	for path, text := range want {
		if got := hide("not accepted: " + text); got != "not accepted: ***" {
			t.Errorf("%s: the log has %q", path, got)
		}
	}
}
