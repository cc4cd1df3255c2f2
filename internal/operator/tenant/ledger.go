package tenant

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kalypso-io/kalypso/internal/operator"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

const (
	// connections is how many connections a control plane has to its database.
	connections = 4
	// idle is how long an unused connection stays open.
	idle = time.Minute
	// connectTime is how long a connection may take.
	connectTime = 10 * time.Second
	// databasePort is the default port of PostgreSQL.
	databasePort = "5432"
)

// databaseHost are the hosts of databases: names and addresses, but no lists of hosts, and no folders with sockets.
var databaseHost = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$|^[0-9a-fA-F:]*:[0-9a-fA-F:.]+$`)

// databaseSettings are the settings that the URL of a ledger may have. Others name files of the operator's container, or other servers.
var databaseSettings = map[string]bool{"sslmode": true, "search_path": true, "application_name": true}

// ledgerURL checks the URL of a ledger. It returns one that leaves nothing to the operator's environment, and limits the connections.
// No error quotes the URL.
func (a Allowed) ledgerURL(text string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return "", fmt.Errorf("%w: a ledger is a PostgreSQL database: postgres://user:password@host:5432/database", operator.ErrNotAllowed)
	}
	host, database := u.Hostname(), strings.TrimPrefix(u.Path, "/")
	password, _ := u.User.Password()
	switch {
	case !databaseHost.MatchString(host):
		return "", fmt.Errorf("%w: the URL does not name one host", operator.ErrNotAllowed)
	case u.User.Username() == "" || password == "":
		return "", errors.New("the URL has no user and password")
	case database == "" || strings.Contains(database, "/"):
		return "", errors.New("the URL has no database")
	}
	if err := a.check("postgres", u.Host); err != nil {
		return "", err
	}
	settings := u.Query()
	for name, values := range settings {
		if !databaseSettings[name] || len(values) != 1 {
			return "", fmt.Errorf("%w: the setting %q of the URL", operator.ErrNotAllowed, secret.Line(name))
		}
	}
	port := u.Port()
	if port == "" {
		port = databasePort
	}
	settings.Set("connect_timeout", fmt.Sprint(int(connectTime.Seconds())))
	settings.Set("pool_max_conns", fmt.Sprint(connections))
	settings.Set("pool_min_conns", "0")
	settings.Set("pool_max_conn_idle_time", idle.String())
	return (&url.URL{
		Scheme: "postgres", User: url.UserPassword(u.User.Username(), password), Host: net.JoinHostPort(host, port), Path: "/" + database,
		RawQuery: strings.ReplaceAll(settings.Encode(), "+", "%20"), // PostgreSQL takes a plus as one
	}).String(), nil
}

const (
	// maxRead is how many bytes the database may send for a round of promotion, and maxMessage for one of its messages. It may be any program:
	// its tenant runs it.
	maxRead    = 64 << 20
	maxMessage = 16 << 20
)

var errRead = fmt.Errorf("the database has sent more than %d MiB for a round", maxRead>>20)

// limits are those of the connections to one database.
type limits struct {
	// left is how many bytes it may still send.
	left atomic.Int64
}

// set limits the connections of a pool.
func (l *limits) set(config *pgxpool.Config) {
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &limited{conn, l}, nil
	}
	config.ConnConfig.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		frontend := pgproto3.NewFrontend(r, w)
		frontend.SetMaxBodyLen(maxMessage)
		return frontend
	}
}

// limited is a connection whose reads count.
type limited struct {
	net.Conn
	*limits
}

// Read implements [net.Conn].
func (c *limited) Read(b []byte) (int, error) {
	if c.left.Load() <= 0 {
		return 0, errRead
	}
	n, err := c.Conn.Read(b)
	c.left.Add(int64(-n))
	return n, err
}
