package serve

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"path"
	"slices"

	"github.com/kalypso-io/kalypso/internal/notify"
	"github.com/kalypso-io/kalypso/internal/notify/message"
)

// NotificationsConfig says who gets messages about promotions.
type NotificationsConfig struct {
	// Receivers are where messages are sent to. Default: none.
	Receivers []ReceiverConfig `json:"receivers,omitempty"`
	// Routes select the events for receivers. Each route that matches an event counts.
	Routes []RouteConfig `json:"routes,omitempty"`
}

// ReceiverConfig is a receiver of messages. It has one of url, urlEnv, urlFile and email.
type ReceiverConfig struct {
	// Name is the name that routes use.
	Name string `json:"name"`
	// Kind is the format: webhook, for CloudEvents that are signed; slack; teams; flux, for events of Flux's notification controller; or email.
	Kind string `json:"kind"`
	// URL is the address of a webhook or flux receiver, if it is not secret.
	URL string `json:"url,omitempty"`
	// URLEnv is the environment variable with the address, URLFile the file.
	URLEnv  string `json:"urlEnv,omitempty"`
	URLFile string `json:"urlFile,omitempty"`
	// SecretEnv is the environment variable with the secret that signs messages, SecretFile the file. For a webhook, it is required, and
	// has the form of Standard Webhooks, whsec_ and Base64. For flux, it is optional.
	SecretEnv  string `json:"secretEnv,omitempty"`
	SecretFile string `json:"secretFile,omitempty"`
	// Email is the mail server and the addresses, for email.
	Email *EmailConfig `json:"email,omitempty"`
}

// EmailConfig is a mail server, and who gets e-mails.
type EmailConfig struct {
	// Server is its address: smtp.example.com:587.
	Server string `json:"server"`
	// TLS is starttls, implicit for a port that is encrypted from the start, or none. Default: starttls.
	TLS string `json:"tls,omitempty"`
	// From is the sender: Kalypso <kalypso@example.com>.
	From string `json:"from"`
	// To are the addresses that get each message.
	To []string `json:"to"`
	// User signs in to the server, with a password in the environment variable PasswordEnv or the file PasswordFile. Default: no sign-in.
	User         string `json:"user,omitempty"`
	PasswordEnv  string `json:"passwordEnv,omitempty"`
	PasswordFile string `json:"passwordFile,omitempty"`
}

// RouteConfig selects events for receivers. Fields that are left out match all events. Names are patterns, such as team-*.
type RouteConfig struct {
	// Receivers are the names of receivers.
	Receivers []string `json:"receivers"`
	// Environments are the names of environments. The name of an environment includes its rings; prod/canary is one ring.
	Environments []string `json:"environments,omitempty"`
	// Workloads and Workspaces are those of applications. They match no event of a control plane.
	Workloads  []string `json:"workloads,omitempty"`
	Workspaces []string `json:"workspaces,omitempty"`
	// Kinds are waiting, failed, rolledBack and done.
	Kinds []message.Kind `json:"kinds,omitempty"`
	// Severity is info, or error for failed and rolledBack only. Default: info.
	Severity message.Severity `json:"severity,omitempty"`
}

// The kinds of receivers.
const (
	ReceiverWebhook = "webhook"
	ReceiverSlack   = "slack"
	ReceiverTeams   = "teams"
	ReceiverFlux    = "flux"
	ReceiverEmail   = "email"
)

// receiverKinds are all of them.
var receiverKinds = []string{ReceiverWebhook, ReceiverSlack, ReceiverTeams, ReceiverFlux, ReceiverEmail}

// Check returns all errors of receivers and routes, joined.
func (n *NotificationsConfig) Check() error {
	var problems []error
	used, names := map[string]bool{}, map[string]bool{}
	for i := range n.Receivers {
		r := &n.Receivers[i]
		for _, err := range r.check() {
			problems = append(problems, fmt.Errorf("notifications.receivers[%d]: %w", i, err))
		}
		if names[r.Name] {
			problems = append(problems, fmt.Errorf("notifications.receivers[%d]: another receiver has the name %q; use a different one", i, r.Name))
		}
		names[r.Name] = true
	}
	for i := range n.Routes {
		r := &n.Routes[i]
		for _, err := range r.check(names) {
			problems = append(problems, fmt.Errorf("notifications.routes[%d]: %w", i, err))
		}
		for _, name := range r.Receivers {
			used[name] = true
		}
	}
	for i, r := range n.Receivers {
		if !used[r.Name] {
			problems = append(problems, fmt.Errorf("notifications.receivers[%d]: no route sends to %q; add it to a route, or remove it", i, r.Name))
		}
	}
	return errors.Join(problems...)
}

func (r *ReceiverConfig) check() (problems []error) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if !schedulerName.MatchString(r.Name) {
		problem("name: %q is not a name of lower-case letters, digits and dashes", r.Name)
	}
	addresses := countSet(r.URL, r.URLEnv, r.URLFile)
	switch {
	case !slices.Contains(receiverKinds, r.Kind):
		problem("kind: %q is not webhook, slack, teams, flux or email", r.Kind)
		return problems
	case r.Kind == ReceiverEmail && (r.Email == nil || addresses > 0):
		problem("a receiver of the kind email has email, and no URL")
	case r.Kind != ReceiverEmail && (r.Email != nil || addresses != 1):
		problem("want exactly one of url, urlEnv and urlFile")
	case r.URL != "" && (r.Kind == ReceiverSlack || r.Kind == ReceiverTeams):
		problem("url: the URL of a chat's webhook is a secret; put it in an environment variable or a file, and name that in urlEnv or urlFile")
	}
	secrets := countSet(r.SecretEnv, r.SecretFile)
	switch {
	case secrets > 1:
		problem("want one of secretEnv and secretFile")
	case r.Kind == ReceiverWebhook && secrets == 0:
		problem("want one of secretEnv and secretFile, so that the receiver can verify messages")
	case secrets > 0 && r.Kind != ReceiverWebhook && r.Kind != ReceiverFlux:
		problem("secretEnv, secretFile: they are for webhook and flux")
	}
	if r.Email != nil {
		for _, err := range r.Email.check() {
			problem("email.%w", err)
		}
	}
	return problems
}

func (e *EmailConfig) check() (problems []error) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if host, port, err := net.SplitHostPort(e.Server); err != nil || host == "" || port == "" {
		problem("server: %q is not an address such as smtp.example.com:587", e.Server)
	}
	if !slices.Contains([]string{"", "starttls", "implicit", "none"}, e.TLS) {
		problem("tls: %q is not starttls, implicit or none", e.TLS)
	}
	if _, err := mail.ParseAddress(e.From); err != nil {
		problem("from: %q is not an address such as Kalypso <kalypso@example.com>", e.From)
	}
	if len(e.To) == 0 {
		problem("to: name at least one address")
	}
	for _, to := range e.To {
		if _, err := mail.ParseAddress(to); err != nil {
			problem("to: %q is not an address such as team@example.com", to)
		}
	}
	switch n := countSet(e.PasswordEnv, e.PasswordFile); {
	case n > 1:
		problem("passwordEnv: want one of passwordEnv and passwordFile")
	case (n > 0) != (e.User != ""):
		problem("user: set both user and a password, or none")
	case n > 0 && e.TLS == "none":
		problem("tls: the password would be readable on the way; use starttls or implicit")
	}
	return problems
}

func (r *RouteConfig) check(receivers map[string]bool) (problems []error) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if len(r.Receivers) == 0 {
		problem("receivers: name at least one")
	}
	for _, name := range r.Receivers {
		if !receivers[name] {
			problem("receivers: there is no receiver %q", name)
		}
	}
	for _, patterns := range [][]string{r.Environments, r.Workloads, r.Workspaces} {
		for _, p := range patterns {
			if _, err := path.Match(p, ""); err != nil || p == "" {
				problem("%q is not a name or a pattern such as team-*", p)
			}
		}
	}
	for _, k := range r.Kinds {
		if !slices.Contains(message.Kinds, k) {
			problem("kinds: %q is not waiting, failed, rolledBack or done", k)
		}
	}
	if !slices.Contains([]message.Severity{"", message.Info, message.Error}, r.Severity) {
		problem("severity: %q is not info or error", r.Severity)
	}
	if r.Severity == message.Error && len(r.Kinds) > 0 && !slices.ContainsFunc(r.Kinds, func(k message.Kind) bool { return k.Severity() == message.Error }) {
		problem("kinds: none of them has the severity error; the route would match nothing")
	}
	return problems
}

// NotificationRoutes returns the routes.
func (n *NotificationsConfig) NotificationRoutes() []notify.Route {
	var routes []notify.Route
	for _, r := range n.Routes {
		routes = append(routes, notify.Route(r))
	}
	return routes
}

// countSet returns how many texts are set.
func countSet(texts ...string) (n int) {
	for _, t := range texts {
		if t != "" {
			n++
		}
	}
	return n
}
