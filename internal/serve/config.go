package serve

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Config is the configuration file of the server. docs/schemas/serve.json is its JSON Schema.
//
// Credentials are never written into it: it names the environment variables and files that hold them.
type Config struct {
	// ControlPlanes are the URLs of the control plane repositories to keep scheduled.
	ControlPlanes []string `json:"controlPlanes"`
	// Listen is the address to serve on. Default: 127.0.0.1:8080.
	Listen string `json:"listen,omitempty"`
	// URL is where people and forges reach the server. Default: http:// and the address that is listened on.
	URL string `json:"url,omitempty"`
	// Data is the folder of the local forge, and of what else the server keeps. Default: kalypso-data.
	Data string `json:"data,omitempty"`
	// LocalForge serves the forge that comes with the server. Default: true when no forge is configured.
	LocalForge *bool `json:"localForge,omitempty"`
	// Forges are those that host control planes and GitOps repositories.
	Forges []forge.Connection `json:"forges,omitempty"`
	// Map reads repositories from elsewhere: URL to path or URL.
	Map map[string]string `json:"map,omitempty"`
	// PreviewForks says on pull requests from forks, too, what they would do to the fleet. Such a request may name any
	// repository and any template, which the server then reads and renders: allow it only where strangers cannot fork.
	// Default: false; such requests get a status that says so.
	PreviewForks bool `json:"previewForks,omitempty"`
	// SigningKeyFile is an SSH or OpenPGP key that commits are signed with; the environment variable
	// KALYPSO_SIGNING_PASSPHRASE unlocks it. Default: commits are not signed.
	SigningKeyFile string `json:"signingKeyFile,omitempty"`
	// Ledger is where it is kept what ran where: a file, or the URL of a PostgreSQL database, without a password: PGPASSWORD and
	// PGPASSFILE have that. Default: ledger.db in Data.
	Ledger string `json:"ledger,omitempty"`
	// Retention is how long it is remembered what reconcilers became, at least a day. Default: for ever.
	Retention metav1.Duration `json:"retention,omitempty"`
	// Chains name environments one after the other, by the URL of their control plane: it is how environments without rules of
	// their own take part in promotion. Nothing is promoted along a chain that nobody wrote down.
	Chains map[string][]string `json:"chains,omitempty"`
	// Verify says what verifications may do.
	Verify VerifyConfig `json:"verify,omitempty"`
	// Access says who may do what.
	Access AccessConfig `json:"access,omitempty"`
	// Poll is how often everything is looked at, whether events come or not. Default: 1m.
	Poll metav1.Duration `json:"poll,omitempty"`
	// Workers is how many environments are worked on at once. Default: 4.
	Workers int `json:"workers,omitempty"`
	// Log says how to log.
	Log LogConfig `json:"log,omitempty"`
	// Tracing says where spans go. Default: nowhere, unless the environment has OpenTelemetry's variables.
	Tracing TracingConfig `json:"tracing,omitempty"`
}

// VerifyConfig says what verifications and scans may do. They are written in the control plane.
type VerifyConfig struct {
	// Programs are those that verifications and scans may run on this machine, by their whole paths. Default: none.
	Programs []string `json:"programs,omitempty"`
	// Hosts are names and addresses that verifications may ask although they are private to this machine or network:
	// smoke.internal, or 10.0.0.7. Default: none.
	Hosts []string `json:"hosts,omitempty"`
}

// AccessConfig says who may do what. There are always tokens; see kalypso token.
type AccessConfig struct {
	// Anonymous says who may read without a token: never; local, which is programs of this machine where the server only listens
	// to those; or always. Default: local.
	Anonymous string `json:"anonymous,omitempty"`
	// OIDC signs people in with what an issuer says about them.
	OIDC *OIDCConfig `json:"oidc,omitempty"`
}

// OIDCConfig is an OpenID Connect issuer.
type OIDCConfig struct {
	// Issuer is its URL, Audience the client ID that it knows this server by.
	Issuer   string `json:"issuer"`
	Audience string `json:"audience"`
	// Roles are the roles of groups: reader, operator or admin. Nobody else has one.
	Roles map[string]string `json:"roles"`
	// RolesClaim is the claim with the groups. Default: groups.
	RolesClaim string `json:"rolesClaim,omitempty"`
	// NameClaim is the claim that people are called by. Default: email where it is verified, else sub.
	NameClaim string `json:"nameClaim,omitempty"`
	// ClientSecretEnv names the environment variable with the secret that the issuer knows this server by, when people sign in
	// with a browser. Default: none, for issuers that know it as a public client.
	ClientSecretEnv string `json:"clientSecretEnv,omitempty"`
	// Scopes are asked for beside openid when people sign in with a browser. Default: profile and email.
	Scopes []string `json:"scopes,omitempty"`
}

// TracingConfig says where OpenTelemetry's spans go, by OTLP over HTTP.
type TracingConfig struct {
	// Endpoint is the URL of a collector: http://127.0.0.1:4318/v1/traces. Default: what OTEL_EXPORTER_OTLP_ENDPOINT says.
	Endpoint string `json:"endpoint,omitempty"`
}

// LogConfig says how to log.
type LogConfig struct {
	// Format is text or json. Default: text on a terminal, else json.
	Format string `json:"format,omitempty"`
	// Level is debug, info, warn or error. Default: info.
	Level string `json:"level,omitempty"`
}

// The defaults of the configuration.
const (
	DefaultListen = "127.0.0.1:8080"
	DefaultData   = "kalypso-data"
	minimumPoll   = 5 * time.Second

	minimumRetention = 24 * time.Hour
	// ledgerFile is the name of the ledger in the data folder.
	ledgerFile = "ledger.db"
)

// ParseConfig reads a configuration file, which may be empty. A field that does not exist is an error.
// overlay lays over it what flags say, before the defaults are filled in; it may be nil.
func ParseConfig(text []byte, overlay func(*Config)) (*Config, error) {
	c := &Config{}
	if err := yaml.UnmarshalStrict(text, c); err != nil {
		return nil, fmt.Errorf("parse the configuration: %w", err)
	}
	if overlay != nil {
		overlay(c)
	}
	c.complete()
	return c, nil
}

// complete fills in the defaults.
func (c *Config) complete() {
	c.Listen = cmp.Or(c.Listen, DefaultListen)
	c.Data = cmp.Or(c.Data, DefaultData)
	c.URL = cmp.Or(c.URL, "http://"+c.Listen)
	c.Ledger = cmp.Or(c.Ledger, filepath.Join(c.Data, ledgerFile))
	c.Access.Anonymous = cmp.Or(c.Access.Anonymous, "local")
	c.Poll.Duration = cmp.Or(c.Poll.Duration, time.Minute)
	if c.LocalForge == nil {
		local := len(c.Forges) == 0
		c.LocalForge = &local
	}
	for i := range c.Forges {
		f := &c.Forges[i]
		if u, err := url.Parse(f.URL); err == nil && f.Kind == "" {
			f.Kind, _ = forge.KindOfHost(u.Host)
		}
		f.Name = cmp.Or(f.Name, string(f.Kind))
	}
}

// Check returns everything that is wrong with the configuration, joined; nil when nothing is.
func (c *Config) Check() error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if len(c.ControlPlanes) == 0 {
		problem("controlPlanes: name at least one, or give --control-plane")
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		problem("listen: %q is not an address such as 127.0.0.1:8080", c.Listen)
	}
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.User != nil {
		problem("url: want a URL such as https://kalypso.example.com, without credentials")
	}
	if c.Poll.Duration < minimumPoll {
		problem("poll: %s is less than %s", c.Poll.Duration, minimumPoll)
	}
	if r := c.Retention.Duration; r != 0 && r < minimumRetention {
		problem("retention: %s is less than %s", r, minimumRetention)
	}
	if u, err := url.Parse(c.Ledger); err == nil && u.User != nil {
		if _, has := u.User.Password(); has {
			problem("ledger: leave the password out of the URL; PGPASSWORD or PGPASSFILE have it")
		}
	}
	for _, at := range slices.Sorted(maps.Keys(c.Chains)) {
		if !slices.Contains(c.ControlPlanes, at) {
			problem("chains: %q is none of the control planes", at)
		}
	}
	for _, program := range c.Verify.Programs {
		if !filepath.IsAbs(program) {
			problem("verify.programs: %q is no whole path", program)
		}
	}
	if !slices.Contains([]string{"never", "local", "always"}, c.Access.Anonymous) {
		problem("access.anonymous: %q is none of never, local and always", c.Access.Anonymous)
	}
	if o := c.Access.OIDC; o != nil {
		if err := o.check(); err != nil {
			problem("access.oidc: %w", err)
		}
	}
	if c.Workers < 0 {
		problem("workers: %d is negative", c.Workers)
	}
	if !slices.Contains([]string{"", "text", "json"}, c.Log.Format) {
		problem("log.format: %q is neither text nor json", c.Log.Format)
	}
	if !slices.Contains([]string{"", "debug", "info", "warn", "error"}, c.Log.Level) {
		problem("log.level: %q is none of debug, info, warn and error", c.Log.Level)
	}
	if u, err := url.Parse(c.Tracing.Endpoint); c.Tracing.Endpoint != "" && (err != nil || u.Host == "" || u.User != nil) {
		problem("tracing.endpoint: want a URL such as http://127.0.0.1:4318/v1/traces, without credentials")
	}
	return errors.Join(append(problems, c.CheckForges())...)
}

func (o *OIDCConfig) check() error {
	if u, err := url.Parse(o.Issuer); err != nil || u.Host == "" || u.User != nil {
		return errors.New("issuer: want a URL such as https://login.example.com, without credentials")
	}
	if o.Audience == "" {
		return errors.New("audience: name the client ID that the issuer knows this server by")
	}
	for _, group := range slices.Sorted(maps.Keys(o.Roles)) {
		if !slices.Contains([]string{"reader", "operator", "admin"}, o.Roles[group]) {
			return fmt.Errorf("roles: %q gives %q, which is none of reader, operator and admin", group, o.Roles[group])
		}
	}
	return nil
}

// CheckForges returns everything that is wrong with the forges, joined; nil when nothing is.
func (c *Config) CheckForges() error {
	var problems []error
	names := map[string]bool{}
	for i, f := range c.Forges {
		for _, err := range f.Check() {
			problems = append(problems, fmt.Errorf("forges[%d]: %w", i, err))
		}
		if names[f.Name] {
			problems = append(problems, fmt.Errorf("forges[%d]: another forge has the name %q too; give it one of its own", i, f.Name))
		}
		names[f.Name] = true
	}
	return errors.Join(problems...)
}
