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
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/text/repourl"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Config is the configuration file of the server. docs/schemas/serve.json is its JSON Schema.
//
// It contains no credentials: it names the environment variables and files that have them.
type Config struct {
	// ControlPlanes are the URLs of the control plane repositories.
	ControlPlanes []string `json:"controlPlanes"`
	// Listen is the address to listen on. Default: 127.0.0.1:8080.
	Listen string `json:"listen,omitempty"`
	// URL is the public address of the server. Default: http:// and the listen address.
	URL string `json:"url,omitempty"`
	// Data is the folder of the embedded forge, the ledger and other state. Default: kalypso-data.
	Data string `json:"data,omitempty"`
	// LocalForge enables the embedded forge. Default: true if no forge is configured.
	LocalForge *bool `json:"localForge,omitempty"`
	// Forges host control planes and GitOps repositories.
	Forges []forge.Connection `json:"forges,omitempty"`
	// People are the users whose reviews of pull requests count as approvals, with their logins on the forges. A user in this list can
	// approve, unless the approval requires a group that the user does not have here. Default: reviews do not count.
	People []forge.Person `json:"people,omitempty"`
	// Map reads repositories from other locations: URL to path or URL.
	Map map[string]string `json:"map,omitempty"`
	// PreviewForks enables previews of pull requests from forks. They can name any repository and template, which the server
	// then reads and renders: enable it only if strangers cannot fork. Default: false; such pull requests get a status that says so.
	PreviewForks bool `json:"previewForks,omitempty"`
	// SigningKeyFile is an SSH or OpenPGP key that signs commits; the environment variable KALYPSO_SIGNING_PASSPHRASE
	// unlocks it. Default: commits are not signed.
	SigningKeyFile string `json:"signingKeyFile,omitempty"`
	// DeliveryKeyFile is the ed25519 key that signs what clusters without a reconciler should run: PKCS #8 as PEM. Servers with the same ledger
	// need the same key. Default: delivery.key in the data folder, which is created.
	DeliveryKeyFile string `json:"deliveryKeyFile,omitempty"`
	// Ledger is the history of the fleet: a file, or the URL of a PostgreSQL database without a password, which is in PGPASSWORD
	// or PGPASSFILE. Default: ledger.db in the data folder.
	Ledger string `json:"ledger,omitempty"`
	// Retention is how long observations are kept, at least a day. Default: forever.
	Retention metav1.Duration `json:"retention,omitempty"`
	// Chains are the environments without promotion rules that are promoted in order, by the URL of their control plane.
	Chains map[string][]string `json:"chains,omitempty"`
	// Verify restricts verifications.
	Verify VerifyConfig `json:"verify,omitempty"`
	// Schedulers are the external schedulers and extenders that policies can name. Default: none.
	Schedulers []SchedulerConfig `json:"schedulers,omitempty"`
	// Publish publishes what is merged of applications as solution versions in a registry. Default: nothing is published.
	Publish PublishConfig `json:"publish,omitempty"`
	// Registry enables the embedded registry, for solution versions. A server with it shares its ledger with no other server. Default: off.
	Registry *RegistryConfig `json:"registry,omitempty"`
	// Notifications say who gets messages about promotions. Default: no messages are sent.
	Notifications NotificationsConfig `json:"notifications,omitempty"`
	// Access configures who has access.
	Access AccessConfig `json:"access,omitempty"`
	// ResourceGraph are the parts of Azure whose clusters report there, and not to this server. Default: none.
	ResourceGraph []ResourceGraphConfig `json:"resourceGraph,omitempty"`
	// Poll is the interval at which everything is read again, besides events. Default: 1m.
	Poll metav1.Duration `json:"poll,omitempty"`
	// Workers is the number of environments that are processed concurrently, and also that of applications. Default: 4.
	Workers int `json:"workers,omitempty"`
	// Replicas are several servers that share a ledger in PostgreSQL.
	Replicas ReplicasConfig `json:"replicas,omitempty"`
	// Sources limits what one repository on another machine can take.
	Sources SourcesConfig `json:"sources,omitempty"`
	// Log configures the log.
	Log LogConfig `json:"log,omitempty"`
	// Tracing configures tracing. Default: off, unless OpenTelemetry's environment variables are set.
	Tracing TracingConfig `json:"tracing,omitempty"`
}

// SourcesConfig limits what one repository on another machine can take. A repository that exceeds a limit of time is not contacted
// for a minute, and then for longer pauses. What needs it is held meanwhile.
type SourcesConfig struct {
	// Answer is the time to connect and to list branches. Default: 30s.
	Answer metav1.Duration `json:"answer,omitempty"`
	// Transfer is the time to send or receive commits. Default: 5m.
	Transfer metav1.Duration `json:"transfer,omitempty"`
}

// PublishConfig says where solution versions of applications are published; those of the platform are published where a GitOpsRepo says, on a
// public address, the host of To, that of the server's own URL, or one in verify.hosts. The credential of a registry is that of charts: in Docker's
// configuration, or in KALYPSO_CHART_HOST, KALYPSO_CHART_USERNAME and KALYPSO_CHART_PASSWORD.
type PublishConfig struct {
	// To is a path in a registry: oci://registry.example.com/solutions. The versions of an application are below it, in WORKSPACE/APPLICATION.
	To string `json:"to,omitempty"`
	// KeyFile is an ed25519 key in PEM that signs versions of both. Default: versions are not signed.
	KeyFile string `json:"keyFile,omitempty"`
}

// RegistryConfig configures the embedded registry: the API of the OCI distribution specification at /v2/, with the folder registry in the
// data folder.
type RegistryConfig struct {
	// Size limits what it stores: 20Gi, or 500Mi. Pushes that exceed it are refused. Default: 10Gi.
	Size string `json:"size,omitempty"`
}

// The default and the minimum of [RegistryConfig.Size], in bytes.
const (
	defaultRegistrySize = 10 << 30
	minRegistrySize     = 1 << 20
)

// Bytes returns the size in bytes.
func (c RegistryConfig) Bytes() (int64, error) {
	if c.Size == "" {
		return defaultRegistrySize, nil
	}
	q, err := resource.ParseQuantity(c.Size)
	if err != nil || q.Value() < minRegistrySize {
		return 0, fmt.Errorf("size: %q is not a size such as 20Gi, of at least 1Mi", c.Size)
	}
	return q.Value(), nil
}

// ReplicasConfig configures a server among others with the same ledger. Servers with a ledger in PostgreSQL share their work without
// any configuration.
type ReplicasConfig struct {
	// Name identifies this server among its replicas. A restarted server has the same name. Default: the host name, and the address to
	// listen on or, with the embedded forge, the data folder.
	Name string `json:"name,omitempty"`
}

// VerifyConfig restricts the verifications and scans of control planes.
type VerifyConfig struct {
	// Programs are the absolute paths of the programs that verifications and scans may run on this machine. Default: none.
	Programs []string `json:"programs,omitempty"`
	// Hosts are the private host names and addresses that verifications may send requests to: smoke.internal, or 10.0.0.7. Default: none.
	Hosts []string `json:"hosts,omitempty"`
	// Credentials are sent with the requests of verifications to their hosts. Anyone who can write to a control plane can send
	// requests with them: use credentials that can only read. Default: none.
	Credentials []VerifyCredential `json:"credentials,omitempty"`
}

// VerifyCredential is a credential for one host: a bearer token, or a user and a password. It is only sent by https, or to a
// loopback address.
type VerifyCredential struct {
	// Host is the host of the URLs, with the port if they have one: prometheus.example.com, or 10.0.0.7:9090.
	Host string `json:"host"`
	// TokenEnv is the environment variable with a bearer token.
	TokenEnv string `json:"tokenEnv,omitempty"`
	// UserEnv and PasswordEnv are the environment variables with a user and a password.
	UserEnv     string `json:"userEnv,omitempty"`
	PasswordEnv string `json:"passwordEnv,omitempty"`
}

// AccessConfig configures access besides tokens, which are always accepted; see kalypso token.
type AccessConfig struct {
	// Anonymous allows reading without a token: never; local, for programs on this machine if the server listens on a loopback
	// address; or always. Default: local.
	Anonymous string `json:"anonymous,omitempty"`
	// Hosts are further host names that the server answers for, besides localhost, IP addresses and the host of url. Default: none if the
	// server listens on a loopback address, otherwise all.
	Hosts []string `json:"hosts,omitempty"`
	// TrustedProxies are the addresses or networks of proxies whose header X-Forwarded-For names the client: 10.1.0.0/16. Default: none.
	TrustedProxies []string `json:"trustedProxies,omitempty"`
	// OIDC lets users sign in with an OpenID Connect issuer.
	OIDC *OIDCConfig `json:"oidc,omitempty"`
	// Grants give the members of groups of the issuer roles in workspaces. Default: none.
	Grants []GrantConfig `json:"grants,omitempty"`
}

// GrantConfig gives the members of groups a role in workspaces.
type GrantConfig struct {
	// Role is reader, approver or operator.
	Role string `json:"role"`
	// Groups are groups of the issuer. A user needs one of them.
	Groups []string `json:"groups"`
	// Workspaces are the workspaces.
	Workspaces []string `json:"workspaces"`
	// Environments are the environments. Default: all.
	Environments []string `json:"environments,omitempty"`
	// ControlPlane is the URL of the control plane whose workspaces these are. Default: all control planes.
	ControlPlane string `json:"controlPlane,omitempty"`
}

// OIDCConfig is an OpenID Connect issuer.
type OIDCConfig struct {
	// Issuer is its URL, Audience the client ID of this server.
	Issuer   string `json:"issuer"`
	Audience string `json:"audience"`
	// Roles are the roles of groups: reader, operator, break-glass or admin. Users in no listed group have no role,
	// unless access.grants give them one in workspaces.
	Roles map[string]string `json:"roles"`
	// RolesClaim is the claim with the groups. Default: groups.
	RolesClaim string `json:"rolesClaim,omitempty"`
	// NameClaim is the claim with the user's name. Default: email if it is verified, else sub.
	NameClaim string `json:"nameClaim,omitempty"`
	// ClientSecretEnv is the environment variable with the client secret, for signing in with a browser. Default: none, for public clients.
	ClientSecretEnv string `json:"clientSecretEnv,omitempty"`
	// Scopes are requested in addition to openid. Default: profile and email.
	Scopes []string `json:"scopes,omitempty"`
}

// TracingConfig configures OpenTelemetry spans, sent by OTLP over HTTP.
type TracingConfig struct {
	// Endpoint is the URL of a collector: http://127.0.0.1:4318/v1/traces. Default: OTEL_EXPORTER_OTLP_ENDPOINT.
	Endpoint string `json:"endpoint,omitempty"`
}

// LogConfig configures the log.
type LogConfig struct {
	// Format is text or json. Default: text on a terminal, otherwise json.
	Format string `json:"format,omitempty"`
	// Level is debug, info, warn or error. Default: info.
	Level string `json:"level,omitempty"`
}

// The defaults of the configuration.
const (
	DefaultListen = "127.0.0.1:8080"
	DefaultData   = "kalypso-data"
	minimumPoll   = 5 * time.Second

	// maxTransfer is less than the time limit of a round.
	maxTransfer = 9 * time.Minute
	// ledgerFile is the name of the ledger in the data folder.
	ledgerFile = "ledger.db"
)

// ParseConfig reads a configuration file, which may be empty. Unknown fields are errors.
// overlay applies flags before the defaults; it may be nil.
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

// complete sets the defaults.
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

// Check returns all errors of the configuration, joined.
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
	if s := c.Sources; s.Answer.Duration < 0 || s.Transfer.Duration < 0 || s.Transfer.Duration > maxTransfer {
		problem("sources: want positive times, and a transfer of at most %s", maxTransfer)
	}
	if r := c.Retention.Duration; r != 0 && r < ledger.MinRetention {
		problem("retention: %s is less than %s", r, ledger.MinRetention)
	}
	if u, err := url.Parse(c.Ledger); err == nil && u.User != nil {
		if _, has := u.User.Password(); has {
			problem("ledger: remove the password from the URL; set PGPASSWORD or PGPASSFILE")
		}
	}
	for _, at := range slices.Sorted(maps.Keys(c.Chains)) {
		if !slices.Contains(c.ControlPlanes, at) {
			problem("chains: %q is not one of the control planes", at)
		}
	}
	for _, program := range c.Verify.Programs {
		if !filepath.IsAbs(program) {
			problem("verify.programs: %q is not an absolute path", program)
		}
	}
	for i, v := range c.Verify.Credentials {
		if err := v.check(); err != nil {
			problem("verify.credentials[%d]: %w", i, err)
		}
	}
	if !slices.Contains([]string{"never", "local", "always"}, c.Access.Anonymous) {
		problem("access.anonymous: %q is not never, local or always", c.Access.Anonymous)
	}
	if _, err := access.ParseProxies(c.Access.TrustedProxies); err != nil {
		problem("access.trustedProxies: %w", err)
	}
	if o := c.Access.OIDC; o != nil {
		if err := o.check(); err != nil {
			problem("access.oidc: %w", err)
		}
	}
	for i, g := range c.AccessGrants() {
		if err := g.Check(); err != nil {
			problem("access.grants[%d]: %w", i, err)
		}
		if g.ControlPlane != "" && !slices.ContainsFunc(c.ControlPlanes, func(url string) bool { return repourl.Same(url, g.ControlPlane) }) {
			problem("access.grants[%d].controlPlane: %q is not one of the control planes", i, secret.Redact(g.ControlPlane))
		}
	}
	if len(c.Access.Grants) > 0 && c.Access.OIDC == nil {
		problem("access.grants: they need access.oidc, which has the groups of users; a token is limited when it is created")
	}
	if to, ok := strings.CutPrefix(c.Publish.To, "oci://"); c.Publish.To != "" && (!ok || to == "" || strings.ContainsAny(to, "@? ")) {
		problem("publish.to: want oci://REGISTRY/PATH, without credentials")
	}
	if c.Registry != nil {
		if _, err := c.Registry.Bytes(); err != nil {
			problem("registry.%w", err)
		}
	}
	if c.Workers < 0 {
		problem("workers: %d is negative", c.Workers)
	}
	if !slices.Contains([]string{"", "text", "json"}, c.Log.Format) {
		problem("log.format: %q is not text or json", c.Log.Format)
	}
	if !slices.Contains([]string{"", "debug", "info", "warn", "error"}, c.Log.Level) {
		problem("log.level: %q is not debug, info, warn or error", c.Log.Level)
	}
	if u, err := url.Parse(c.Tracing.Endpoint); c.Tracing.Endpoint != "" && (err != nil || u.Host == "" || u.User != nil) {
		problem("tracing.endpoint: want a URL such as http://127.0.0.1:4318/v1/traces, without credentials")
	}
	return errors.Join(append(problems, c.CheckForges(), CheckSchedulers(c.Schedulers), CheckResourceGraph(c.ResourceGraph), c.Notifications.Check())...)
}

// AccessGrants returns the grants of the configuration.
func (c *Config) AccessGrants() []access.Grant {
	var all []access.Grant
	for i, g := range c.Access.Grants {
		all = append(all, access.Grant{
			Role: access.Role(g.Role), Groups: g.Groups, Workspaces: g.Workspaces, Environments: g.Environments, ControlPlane: g.ControlPlane,
			From: fmt.Sprintf("access.grants[%d]", i),
		})
	}
	return all
}

func (v *VerifyCredential) check() error {
	if u, err := url.Parse("https://" + v.Host); err != nil || v.Host == "" || u.Host != v.Host {
		return fmt.Errorf("host: %q is not a host such as prometheus.example.com or 10.0.0.7:9090", v.Host)
	}
	if (v.TokenEnv != "") == (v.UserEnv != "" || v.PasswordEnv != "") || (v.UserEnv == "") != (v.PasswordEnv == "") {
		return errors.New("want tokenEnv, or userEnv and passwordEnv")
	}
	return nil
}

func (o *OIDCConfig) check() error {
	if u, err := url.Parse(o.Issuer); err != nil || u.Host == "" || u.User != nil {
		return errors.New("issuer: want a URL such as https://login.example.com, without credentials")
	}
	if o.Audience == "" {
		return errors.New("audience: set the client ID of this server")
	}
	for _, group := range slices.Sorted(maps.Keys(o.Roles)) {
		if !slices.Contains([]string{"reader", "operator", "break-glass", "admin"}, o.Roles[group]) {
			return fmt.Errorf("roles: %q has the role %q, want reader, operator, break-glass or admin", group, o.Roles[group])
		}
	}
	return nil
}

// LocalForgeName is the name of the embedded forge in [forge.Person].
const LocalForgeName = string(forge.Local)

// CheckForges returns all errors of the forges and of the people who have accounts there, joined.
func (c *Config) CheckForges() error {
	var problems []error
	names := map[string]bool{}
	for i, f := range c.Forges {
		for _, err := range f.Check() {
			problems = append(problems, fmt.Errorf("forges[%d]: %w", i, err))
		}
		if names[f.Name] {
			problems = append(problems, fmt.Errorf("forges[%d]: another forge has the name %q; use a different one", i, f.Name))
		}
		names[f.Name] = f.Name != ""
	}
	if *c.LocalForge {
		names[LocalForgeName] = true
	}
	problems = append(problems, forge.CheckPeople(c.People, slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(name string) bool { return name == "" }))...)
	return errors.Join(problems...)
}
