package wiring

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/notify"
	"github.com/kalypso-io/kalypso/internal/notify/message"
	"github.com/kalypso-io/kalypso/internal/notify/send"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/text/secret"
	"github.com/kalypso-io/kalypso/internal/text/secret/secretfile"
)

var (
	_ notify.Sender = (*send.HTTP)(nil)
	_ notify.Sender = (*send.SMTP)(nil)
)

// wireNotifications connects receivers to the ledger. Steps that are recorded wake the collector.
func (s *Server) wireNotifications() error {
	senders, err := NewSenders(s.Config, s.Env)
	if err != nil {
		return err
	}
	s.notifications = &notify.Service{
		Collector:  &notify.Collector{Ledger: s.Ledger, Routes: s.Config.Notifications.NotificationRoutes()},
		Dispatcher: &notify.Dispatcher{Outbox: s.Ledger, Senders: senders, Sent: s.metrics.MessageSent},
		Log:        s.Log,
	}
	return nil
}

// wakingLedger calls wake when a step is recorded.
type wakingLedger struct {
	promote.Ledger
	wake func()
}

// RecordStep records a step.
func (l wakingLedger) RecordStep(ctx context.Context, s ledger.Step) error {
	err := l.Ledger.RecordStep(ctx, s)
	l.wake()
	return err
}

// NewSenders returns the senders of the configured receivers, by name.
func NewSenders(config *serve.Config, env map[string]string) (map[string]notify.Sender, error) {
	senders := map[string]notify.Sender{}
	var problems []error
	for i := range config.Notifications.Receivers {
		r := &config.Notifications.Receivers[i]
		sender, err := newSender(r, config, env)
		if err != nil {
			problems = append(problems, fmt.Errorf("receiver %q: %w", r.Name, err))
			continue
		}
		senders[r.Name] = sender
	}
	return senders, errors.Join(problems...)
}

const jsonType = "application/json; charset=utf-8"

func newSender(r *serve.ReceiverConfig, config *serve.Config, env map[string]string) (notify.Sender, error) {
	if r.Kind == serve.ReceiverEmail {
		return newMailer(r.Email, config, env)
	}
	h := &send.HTTP{Server: config.URL, Hosts: config.Verify.Hosts, Type: jsonType, URL: secret.New(r.URL)}
	var err error
	if r.URL == "" {
		if h.URL, err = configured("url", r.URLEnv, r.URLFile, env); err != nil {
			return nil, err
		}
	}
	if _, err := send.ParseURL(h.URL); err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	var key secret.Value
	if r.SecretEnv != "" || r.SecretFile != "" {
		if key, err = configured("secret", r.SecretEnv, r.SecretFile, env); err != nil {
			return nil, err
		}
	}
	switch r.Kind {
	case serve.ReceiverWebhook:
		keys, err := send.ParseWebhookKeys(key)
		if err != nil {
			return nil, fmt.Errorf("secret: %w", err)
		}
		h.Body, h.Type, h.Sign = message.CloudEvent, message.CloudEventType, send.StandardWebhooks(keys)
	case serve.ReceiverSlack:
		h.Body = message.Slack
	case serve.ReceiverTeams:
		h.Body = message.Teams
	case serve.ReceiverFlux:
		h.Body, h.Sign = message.Flux, send.FluxSignature(key)
	default:
		return nil, fmt.Errorf("kind: there is no kind %q", r.Kind)
	}
	return h, nil
}

func newMailer(c *serve.EmailConfig, config *serve.Config, env map[string]string) (notify.Sender, error) {
	s := &send.SMTP{Address: c.Server, TLS: send.TLSMode(c.TLS), User: c.User, Server: config.URL, Hosts: config.Verify.Hosts}
	var err error
	if s.From, err = mail.ParseAddress(c.From); err != nil {
		return nil, fmt.Errorf("email.from: %w", err)
	}
	for _, to := range c.To {
		address, err := mail.ParseAddress(to)
		if err != nil {
			return nil, fmt.Errorf("email.to: %w", err)
		}
		s.To = append(s.To, address)
	}
	if c.User != "" {
		s.Password, err = configured("email.password", c.PasswordEnv, c.PasswordFile, env)
	}
	return s, err
}

// configured returns the secret in an environment variable or a file.
func configured(what, variable, file string, env map[string]string) (secret.Value, error) {
	if variable != "" {
		if v := secret.New(strings.TrimSpace(env[variable])); !v.IsZero() {
			return v, nil
		}
		return secret.Value{}, fmt.Errorf("%s: the environment variable %s is empty", what, variable)
	}
	v, err := secretfile.Value(file)
	if err != nil {
		return secret.Value{}, fmt.Errorf("%s: %w", what, err)
	}
	if v.IsZero() {
		return v, fmt.Errorf("%s: the file %s is empty", what, file)
	}
	return v, nil
}

// TestMessage returns a message that tests a receiver.
func TestMessage(id string, now time.Time) message.Event {
	return message.Event{ID: id, Kind: message.Test, At: now, Reason: "If you can read this, the receiver works."}
}
