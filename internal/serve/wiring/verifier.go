package wiring

import (
	"errors"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// NewVerifier returns a runner of verifications, as the operator configured it. The credentials are in the environment.
func NewVerifier(config serve.VerifyConfig, env map[string]string) (*verify.Runner, error) {
	r := &verify.Runner{Programs: config.Programs, Hosts: config.Hosts}
	var problems []error
	read := func(name string) secret.Value {
		if name != "" && env[name] == "" {
			problems = append(problems, fmt.Errorf("verify.credentials: the environment variable %s is empty", name))
		}
		return secret.New(env[name])
	}
	for _, c := range config.Credentials {
		r.Credentials = append(r.Credentials, verify.Credential{
			Host: c.Host, Token: read(c.TokenEnv), User: read(c.UserEnv), Password: read(c.PasswordEnv),
		})
	}
	return r, errors.Join(problems...)
}
