package send_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/notify/message"
	"github.com/kalypso-io/kalypso/internal/notify/send"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

var (
	now   = time.Date(2026, 11, 20, 10, 5, 0, 0, time.UTC)
	event = message.Event{
		ID: "6e443ee6", Kind: message.Failed, At: now, Subject: "https://git.example/team/shop#shop", Environment: "prod", Workload: "shop",
		Commit: strings.Repeat("a", 40), Reason: "image not found\r\nBcc: everybody@example.com",
	}
)

const server = "https://kalypso.example"

func chat(url string) *send.HTTP {
	return &send.HTTP{URL: secret.New(url), Body: message.Slack, Type: "application/json", Server: server, Now: func() time.Time { return now }}
}

// TestWebhooksAreSigned verifies a signature as a receiver does: https://www.standardwebhooks.com
func TestWebhooksAreSigned(t *testing.T) {
	first, second := strings.Repeat("k", 32), strings.Repeat("l", 24)
	encode := func(key string) string { return "whsec_" + base64.StdEncoding.EncodeToString([]byte(key)) }
	keys, err := send.ParseWebhookKeys(secret.New(encode(first) + " " + encode(second)))
	if err != nil {
		t.Fatal(err)
	}
	var header http.Header
	var body []byte
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		header = r.Header
		body, _ = io.ReadAll(r.Body)
	}))
	defer s.Close()
	h := chat(s.URL)
	h.Body, h.Type, h.Sign = message.CloudEvent, message.CloudEventType, send.StandardWebhooks(keys)
	if err := h.Send(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	if header.Get("webhook-id") != event.ID || header.Get("webhook-timestamp") != "1795169100" {
		t.Errorf("got %v", header)
	}
	signatures := strings.Fields(header.Get("webhook-signature"))
	for i, key := range []string{first, second} {
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(event.ID + "." + header.Get("webhook-timestamp") + "." + string(body)))
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); len(signatures) != 2 || signatures[i] != want {
			t.Errorf("signature %d: got %q, want %q", i, signatures, want)
		}
	}
	var e struct {
		SpecVersion, Type, Subject, DataContentType string
		Data                                        struct{ Severity, Title, URL string }
	}
	if err := json.Unmarshal(body, &e); err != nil || e.SpecVersion != "1.0" || e.Type != "io.kalypso.promotion.failed" || e.Subject != "shop/prod" ||
		e.DataContentType != "application/json" || e.Data.Severity != "error" || e.Data.URL != server+"/workloads/shop" {
		t.Errorf("%v: %s", err, body)
	}
	for _, wrong := range []string{"", "secret", "whsec_c2hvcnQ=", "whsec_" + strings.Repeat("A", 200), "whsec_not base64"} {
		if _, err := send.ParseWebhookKeys(secret.New(wrong)); err == nil || wrong != "" && strings.Contains(err.Error(), wrong) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// TestRefusals: what receivers answer is quoted, the address is not, and redirects are not followed.
func TestRefusals(t *testing.T) {
	followed := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
	defer elsewhere.Close()
	const path = "/services/T0000/hunter2hunter2"
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   string
		pause  time.Duration
	}{
		"accepted": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "", 0},
		"refused": {
			func(w http.ResponseWriter, r *http.Request) {
				http.Error(w, "no_service "+r.URL.Path, http.StatusNotFound)
			},
			"127.0.0.1 answers 404 Not Found: no_service ******************************", 0,
		},
		"too many": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "90")
				w.WriteHeader(http.StatusTooManyRequests)
			},
			"127.0.0.1 answers 429 Too Many Requests", 90 * time.Second,
		},
		"later": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", now.Add(time.Minute).Format(http.TimeFormat))
				w.WriteHeader(http.StatusServiceUnavailable)
			},
			"127.0.0.1 answers 503 Service Unavailable", time.Minute,
		},
		"redirect": {
			func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) },
			"127.0.0.1 answers 302 Found; configure the URL that it leads to", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(tc.answer)
			defer s.Close()
			err := chat(s.URL+path).Send(t.Context(), event)
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var refused *message.RefusedError
			if !errors.As(err, &refused) || refused.Text != tc.want || refused.RetryAfter != tc.pause {
				t.Errorf("got %+v, want %q after %s", err, tc.want, tc.pause)
			}
		})
	}
	if followed {
		t.Error("a redirect was followed")
	}
}

// TestErrorsHideTheAddress, and addresses of metadata services are refused whatever the name.
func TestErrorsHideTheAddress(t *testing.T) {
	for url, want := range map[string]string{
		"http://127.0.0.1:1/hunter2hunter2":          "refused",
		"https://169.254.169.254/hunter2hunter2":     "",
		"http://chat.example/hunter2hunter2":         "use https",
		"https://me:hunter2hunter2@chat.example/":    "user or password",
		"ftp://chat.example/hunter2hunter2":          "want a URL",
		"https://hunter2hunter2.example.invalid:99x": "want a URL",
	} {
		ctx, stop := context.WithCancel(t.Context())
		if strings.Contains(url, "169.254") {
			stop() // nothing is asked there in a test
		}
		err := chat(url).Send(ctx, event)
		stop()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// mailServer is a mail server that takes one message.
type mailServer struct {
	address  string
	commands chan []string
	text     chan string
}

func newMailServer(t *testing.T, refuses string) *mailServer {
	return newEncryptedMailServer(t, refuses, nil)
}

// newEncryptedMailServer returns a mail server that offers STARTTLS and then AUTH, unless config is nil.
func newEncryptedMailServer(t *testing.T, refuses string, config *tls.Config) *mailServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	m := &mailServer{address: l.Addr().String(), commands: make(chan []string, 1), text: make(chan string, 1)}
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		in := bufio.NewReader(c)
		say := func(line string) { _, _ = io.WriteString(c, line+"\r\n") }
		say("220 ready")
		var commands []string
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				break
			}
			line = strings.TrimSpace(line)
			commands = append(commands, line)
			_, encrypted := c.(*tls.Conn)
			switch {
			case config != nil && !encrypted && strings.HasPrefix(line, "EHLO"):
				say("250-hello\r\n250 STARTTLS")
			case config != nil && encrypted && strings.HasPrefix(line, "EHLO"):
				say("250-hello\r\n250 AUTH PLAIN")
			case line == "STARTTLS":
				say("220 go on")
				c = tls.Server(c, config)
				in = bufio.NewReader(c)
			case strings.HasPrefix(line, "AUTH"):
				say("235 welcome")
			case refuses != "" && strings.HasPrefix(line, refuses):
				say("550 5.1.1 no such mailbox")
			case line == "DATA":
				say("354 go on")
				var text strings.Builder
				for line, err = in.ReadString('\n'); err == nil && line != ".\r\n"; line, err = in.ReadString('\n') {
					text.WriteString(line)
				}
				m.text <- text.String()
				say("250 taken")
			case line == "QUIT":
				say("221 bye")
			default:
				say("250 ok")
			}
		}
		m.commands <- commands
	}()
	return m
}

func mailer(address string) *send.SMTP {
	return &send.SMTP{
		Address: address, TLS: send.NoTLS, Server: server, Now: func() time.Time { return now },
		From: &mail.Address{Name: "Kalypso", Address: "kalypso@example.com"},
		To:   []*mail.Address{{Address: "a@example.com"}, {Name: "Bé", Address: "b@example.com"}},
	}
}

// TestMail reads an e-mail as a mail program does. What an error contains cannot add headers.
func TestMail(t *testing.T) {
	m := newMailServer(t, "")
	e := event
	e.Version = "1.4\r\nBcc: everybody@example.com é"
	if err := mailer(m.address).Send(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	text := <-m.text
	parsed, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject"))
	if err != nil || !strings.HasPrefix(subject, "[kalypso] shop in prod: 1.4") || !strings.HasSuffix(subject, "failed") {
		t.Errorf("subject %q, %v", subject, err)
	}
	to, err := parsed.Header.AddressList("To")
	if err != nil || len(to) != 2 || to[1].Name != "Bé" || parsed.Header.Get("Bcc") != "" || parsed.Header.Get("Message-ID") != "<6e443ee6@kalypso.example>" {
		t.Errorf("headers %v", parsed.Header)
	}
	commands := strings.Join(<-m.commands, "\n")
	for _, want := range []string{"EHLO kalypso.example", "MAIL FROM:<kalypso@example.com>", "RCPT TO:<a@example.com>", "RCPT TO:<b@example.com>"} {
		if !strings.Contains(commands, want) {
			t.Errorf("no %q in\n%s", want, commands)
		}
	}
}

// TestMailIsEncrypted signs in only after the connection is encrypted.
func TestMailIsEncrypted(t *testing.T) {
	certified := httptest.NewTLSServer(http.NotFoundHandler())
	defer certified.Close()
	m := newEncryptedMailServer(t, "", &tls.Config{Certificates: certified.TLS.Certificates, MinVersion: tls.VersionTLS12})
	s := mailer(m.address)
	s.TLS, s.User, s.Password, s.Roots = send.StartTLS, "kalypso", secret.New("hunter2"), x509.NewCertPool()
	s.Roots.AddCert(certified.Certificate())
	if err := s.Send(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	commands := <-m.commands
	want := []string{"EHLO kalypso.example", "STARTTLS", "EHLO kalypso.example", "AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00kalypso\x00hunter2"))}
	if diff := cmp.Diff(want, commands[:4]); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	s.Address, s.Roots = newEncryptedMailServer(t, "", &tls.Config{Certificates: certified.TLS.Certificates, MinVersion: tls.VersionTLS12}).address, nil
	if err := s.Send(t.Context(), event); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate of strangers: %v", err)
	}
}

func TestMailIsRefused(t *testing.T) {
	err := mailer(newMailServer(t, "RCPT").address).Send(t.Context(), event)
	if err == nil || !strings.Contains(err.Error(), "send to a@example.com: 550") {
		t.Errorf("got %v", err)
	}
	s := mailer(newMailServer(t, "").address)
	s.TLS = send.StartTLS
	if err := s.Send(t.Context(), event); err == nil || !strings.Contains(err.Error(), "does not offer STARTTLS") {
		t.Errorf("without encryption: %v", err)
	}
}
