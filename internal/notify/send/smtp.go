package send

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"net/url"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/notify/message"
	"github.com/kalypso-io/kalypso/internal/text/outbound"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// TLSMode is how a connection to a mail server is encrypted.
type TLSMode string

// The modes of encryption.
const (
	// StartTLS encrypts the connection after it is made; servers that do not offer it are refused.
	StartTLS TLSMode = "starttls"
	// ImplicitTLS encrypts the connection from the start, usually on port 465.
	ImplicitTLS TLSMode = "implicit"
	// NoTLS does not encrypt. It is for a server on this machine.
	NoTLS TLSMode = "none"
)

// SMTP sends e-mails. It is safe for concurrent use.
type SMTP struct {
	// Address is the host and port of the mail server.
	Address string // required
	TLS     TLSMode
	From    *mail.Address   // required
	To      []*mail.Address // required
	// User and Password sign in to the server; optional.
	User     string
	Password secret.Value
	// Server is the public URL of this server.
	Server string
	// Hosts are private names and addresses that may be connected to, besides the mail server.
	Hosts []string
	// Roots verify the certificate of the server. Default: those of the system.
	Roots *x509.CertPool
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Send sends a message. It returns nil if the server has accepted it.
func (s *SMTP) Send(ctx context.Context, e message.Event) error {
	ctx, end := context.WithTimeout(ctx, timeout)
	defer end()
	err := s.send(ctx, e)
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errors.New("it did not answer in time")
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return errors.New(secret.Scrub(err.Error(), s.Password))
}

func (s *SMTP) send(ctx context.Context, e message.Event) error {
	host, _, err := net.SplitHostPort(s.Address)
	if err != nil {
		return err
	}
	client, err := s.connect(ctx, host)
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // it is closed already after Quit
	if s.User != "" {
		if err := client.Auth(smtp.PlainAuth("", s.User, s.Password.Reveal(), host)); err != nil {
			return fmt.Errorf("sign in as %q: %w", s.User, err)
		}
	}
	if err := client.Mail(s.From.Address); err != nil {
		return fmt.Errorf("send from %s: %w", s.From.Address, err)
	}
	for _, to := range s.To {
		if err := client.Rcpt(to.Address); err != nil {
			return fmt.Errorf("send to %s: %w", to.Address, err)
		}
	}
	w, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(s.Text(e)); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err // the server has not accepted the message
	}
	_ = client.Quit() // it has
	return nil
}

// connect returns an encrypted connection.
func (s *SMTP) connect(ctx context.Context, host string) (*smtp.Client, error) {
	connection, err := outbound.Dialer(host, permit(host, s.Hosts)).DialContext(ctx, "tcp", s.Address)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = connection.SetDeadline(deadline) // without one, the server's answers end it
	}
	stop := context.AfterFunc(ctx, func() { _ = connection.Close() })
	config := &tls.Config{ServerName: host, RootCAs: s.Roots, MinVersion: tls.VersionTLS12}
	if s.TLS == ImplicitTLS {
		connection = tls.Client(connection, config)
	}
	client, err := smtp.NewClient(connection, host)
	if err != nil {
		stop()
		return nil, errors.Join(err, connection.Close())
	}
	if err := s.greet(client, config); err != nil {
		stop()
		return nil, errors.Join(err, client.Close())
	}
	return client, nil
}

// greet says who we are, and encrypts the connection.
func (s *SMTP) greet(client *smtp.Client, config *tls.Config) error {
	if err := client.Hello(s.hostname()); err != nil {
		return err
	}
	if s.TLS == ImplicitTLS || s.TLS == NoTLS {
		return nil
	}
	if offered, _ := client.Extension("STARTTLS"); !offered {
		return errors.New("the mail server does not offer STARTTLS; set tls: implicit if the port is encrypted from the start")
	}
	return client.StartTLS(config)
}

// hostname is the host of this server's URL.
func (s *SMTP) hostname() string {
	if u, err := url.Parse(s.Server); err == nil && u.Hostname() != "" {
		return u.Hostname()
	}
	return "localhost"
}

// folds breaks long headers between encoded words and between addresses.
var folds = strings.NewReplacer("?= =?", "?=\r\n =?", ">, ", ">,\r\n ")

// Text returns the e-mail: https://www.rfc-editor.org/rfc/rfc5322. The same event has the same Message-ID, so that mail programs
// show it once.
func (s *SMTP) Text(e message.Event) []byte {
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	var to []string
	for _, a := range s.To {
		to = append(to, a.String())
	}
	subject, text := message.Mail(e, s.Server)
	var b bytes.Buffer
	for _, header := range [][2]string{
		{"From", s.From.String()},
		{"To", strings.Join(to, ", ")},
		{"Subject", mime.QEncoding.Encode("utf-8", subject)},
		{"Date", now().UTC().Format(time.RFC1123Z)},
		{"Message-ID", "<" + e.ID + "@" + s.hostname() + ">"},
		{"Auto-Submitted", "auto-generated"}, // https://www.rfc-editor.org/rfc/rfc3834
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		fmt.Fprintf(&b, "%s: %s\r\n", header[0], folds.Replace(secret.Line(header[1])))
	}
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}
