package serve

import (
	"strings"
	"testing"
)

func TestConfigReportsAllErrors(t *testing.T) {
	config, err := ParseConfig([]byte(`
listen: nowhere
url: https://user:hunter2@kalypso.example.com
poll: 1s
workers: -1
log: {format: xml, level: loud}
ledger: postgres://kalypso:hunter2@db.example.com/kalypso
retention: 1h
chains: {"https://git.example.com/other": [dev, prod]}
verify: {programs: [smoke]}
publish: {to: "https://ann:hunter2@registry.example.com/x", keyFile: key.pem}
access: {anonymous: sometimes, oidc: {issuer: login, audience: kalypso, roles: {}}}
forges:
  - {url: "https://github.com"}
  - {url: "https://github.com", tokenEnv: A, tokenFile: b}
  - {url: "https://git.example.com", tokenEnv: A}
  - {url: "not a url", kind: gitea, app: {id: 1}}
people:
  - {user: ada@example.com, logins: {github: ada, gitlab: ada}}
  - {user: ben@example.com, logins: {github: Ada, local: ben}}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	err = config.Check()
	if err == nil {
		t.Fatal("no problem found")
	}
	for _, want := range []string{
		"controlPlanes:", "listen:", "url: want", "poll:", "workers:", "log.format:", "log.level:",
		"ledger:", "retention:", "chains:", "verify.programs:", "publish.to:", "access.anonymous:", "access.oidc: issuer:",
		"forges[0]: set exactly one", "forges[1]: set exactly one", "forges[1]: another forge", "forges[2]: kind:",
		"forges[3]: url:", "forges[3]: app: only github", "forges[3]: app: set",
		`people[0].logins: no forge has the name "gitlab"`, `people[1].logins.github: "Ada" is also the login of ada@example.com`, `people[1].logins: no forge has the name "local"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Error("it tells the password")
	}
}

func TestConfigDefaults(t *testing.T) {
	config, err := ParseConfig(nil, func(c *Config) { c.ControlPlanes = []string{controlPlane} })
	if err != nil {
		t.Fatal(err)
	}
	if err := config.Check(); err != nil {
		t.Error(err)
	}
	if config.Listen != DefaultListen || config.URL != "http://"+DefaultListen || !*config.LocalForge || config.Poll.Duration == 0 {
		t.Errorf("defaults: %+v", config)
	}
	with, err := ParseConfig([]byte("forges: [{url: 'https://gitlab.example.com', tokenEnv: T}]"), nil)
	if err != nil || *with.LocalForge || with.Forges[0].Kind != "gitlab" || with.Forges[0].Name != "gitlab" {
		t.Errorf("defaults with a forge: %+v (%v)", with, err)
	}
}

func TestConfigRefusesUnknownFields(t *testing.T) {
	if _, err := ParseConfig([]byte("controlPlane: x"), nil); err == nil || !strings.Contains(err.Error(), "controlPlane") {
		t.Errorf("error: %v", err)
	}
}

func TestOIDCConfigIsChecked(t *testing.T) {
	const access = "controlPlanes: [https://example.com/platform/control-plane]\naccess: {oidc: "
	for want, text := range map[string]string{
		"access.oidc: issuer:":   "{audience: kalypso, roles: {}}",
		"access.oidc: audience:": "{issuer: 'https://login.example.com', roles: {}}",
		"access.oidc: roles:":    "{issuer: 'https://login.example.com', audience: kalypso, roles: {machines: cluster}}",
	} {
		c, err := ParseConfig([]byte(access+text+"}"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}
