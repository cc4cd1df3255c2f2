package tenant

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kalypso-io/kalypso/internal/operator"
)

// The URL of a ledger names one database on a server that the operator allows, with its user and password, and nothing else: no file of the
// operator's container, and no setting that the operator's environment would fill in.
func TestLedgerURL(t *testing.T) {
	t.Setenv("PGHOST", "elsewhere")
	t.Setenv("PGPORT", "1")
	t.Setenv("PGPASSWORD", "of-the-operator")
	allowed, err := ParseAllowed([]string{"postgresql://DB.shop.svc", "postgres://10.0.0.7:5433", "postgres://[fd00::1]:5432", "https://git.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"postgres://shop:pass-word@db.shop.svc/ledger":                                              "db.shop.svc:5432",
		"postgresql://shop:pass-word@db.shop.svc:5432/ledger?sslmode=disable":                       "db.shop.svc:5432",
		"\npostgres://shop:pass-word@10.0.0.7:5433/ledger?search_path=a%20b&application_name=a+b\n": "10.0.0.7:5433",
		"postgres://shop:pass-word@[fd00::1]/ledger":                                                "[fd00::1]:5432",
	} {
		at, err := allowed.ledgerURL(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		config, err := pgxpool.ParseConfig(at)
		if err != nil {
			t.Fatal(err)
		}
		c := config.ConnConfig
		if got := net.JoinHostPort(c.Host, fmt.Sprint(c.Port)); got != want {
			t.Errorf("%s: the server is %s, want %s", text, got, want)
		}
		for _, f := range c.Fallbacks {
			if f.Host != c.Host || f.Port != c.Port {
				t.Errorf("%s: it falls back to %s", text, f.Host)
			}
		}
		if c.User != "shop" || c.Password != "pass-word" || c.Database != "ledger" || config.MaxConns != connections || config.MinConns != 0 || c.ConnectTimeout != connectTime {
			t.Errorf("%s: got %+v", text, config)
		}
	}
	for text, reason := range map[string]string{
		"":                                  "a ledger is a PostgreSQL database",
		"ledger.db":                         "a ledger is a PostgreSQL database",
		"/var/lib/kalypso/ledger.db":        "a ledger is a PostgreSQL database",
		"file:///var/lib/kalypso/ledger.db": "a ledger is a PostgreSQL database",
		"https://shop:pass-word@git.example.com/ledger":                              "a ledger is a PostgreSQL database",
		"host=db.shop.svc user=shop password=pass-word":                              "a ledger is a PostgreSQL database",
		"postgres://shop:pass-word@other.svc/ledger":                                 "address: postgres://other.svc",
		"postgres://shop:pass-word@db.shop.svc:5433/ledger":                          "address: postgres://db.shop.svc:5433",
		"postgres://shop:pass-word@db.shop.svc,other.svc/ledger":                     "one host",
		"postgres://shop:pass-word@/ledger":                                          "one host",
		"postgres:///ledger?host=/var/run/postgresql":                                "one host",
		"postgres://shop:pass-word@%2Fvar%2Frun/ledger":                              "a ledger is a PostgreSQL database",
		"postgres://shop:pass-word@db.shop.svc/ledger?host=other.svc":                `setting "host"`,
		"postgres://shop:pass-word@db.shop.svc/ledger?hostaddr=10.0.0.1":             `setting "hostaddr"`,
		"postgres://shop:pass-word@db.shop.svc/ledger?sslkey=/var/run/secrets/token": `setting "sslkey"`,
		"postgres://shop:pass-word@db.shop.svc/ledger?sslrootcert=/etc/passwd":       `setting "sslrootcert"`,
		"postgres://shop:pass-word@db.shop.svc/ledger?service=a&servicefile=/etc/a":  `setting "service`,
		"postgres://shop:pass-word@db.shop.svc/ledger?passfile=/etc/passwd":          `setting "passfile"`,
		"postgres://shop:pass-word@db.shop.svc/ledger?pool_max_conns=1000":           `setting "pool_max_conns"`,
		"postgres://shop:pass-word@db.shop.svc/ledger?sslmode=disable&sslmode=allow": `setting "sslmode"`,
		"postgres://shop:pass-word@db.shop.svc/ledger?pass-word=1":                   "setting",
		"postgres://shop@db.shop.svc/ledger":                                         "no user and password",
		"postgres://shop:@db.shop.svc/ledger":                                        "no user and password",
		"postgres://:pass-word@db.shop.svc/ledger":                                   "no user and password",
		"postgres://shop:pass-word@db.shop.svc":                                      "no database",
		"postgres://shop:pass-word@db.shop.svc/a/b":                                  "no database",
		"postgres://shop:pass-word%zz@db.shop.svc/ledger":                            "a ledger is a PostgreSQL database",
	} {
		at, err := allowed.ledgerURL(text)
		if err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: got %q and %v, want %q", text, at, err, reason)
			continue
		}
		if strings.Contains(err.Error(), "shop:pass-word") {
			t.Errorf("%s: the error has the password: %v", text, err)
		}
	}
	// Without a list, every https URL is allowed, and no database.
	if _, err := Allowed(nil).ledgerURL("postgres://shop:pass-word@db.shop.svc/ledger"); !errors.Is(err, operator.ErrNotAllowed) {
		t.Errorf("without a list: %v", err)
	}
}

// A database sends no more in a round than its operator can bear.
func TestDatabasesAreLimited(t *testing.T) {
	l := &limits{}
	l.left.Store(10)
	near, far := net.Pipe()
	t.Cleanup(func() { _ = near.Close(); _ = far.Close() })
	go func() { _, _ = far.Write(make([]byte, 100)) }()
	read, err := io.ReadAll(&limited{near, l})
	if len(read) < 10 || !errors.Is(err, errRead) {
		t.Errorf("got %d bytes and %v", len(read), err)
	}
}
