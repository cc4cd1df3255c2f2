package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// port is part of the socket's name. The server does not listen on the network.
const port = "5432"

// Server is a running server.
type Server struct {
	// Programs is the folder with the server's programs, such as pg_dump.
	Programs string

	folder   string
	as       *syscall.SysProcAttr
	postgres *exec.Cmd
	ended    <-chan error
}

// Start starts a server, and stops it when the test ends. It skips the test if PostgreSQL is not installed.
func Start(tb testing.TB) *Server {
	tb.Helper()
	programs := find()
	if programs == "" {
		tb.Skip("no PostgreSQL server is installed: looked for initdb in PATH and /usr/lib/postgresql/*/bin")
	}
	// Other users may have no access to the parent of tb.TempDir, and the path of a socket must be short.
	folder, err := os.MkdirTemp("", "kalypso-pg-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(folder) }) // a leftover temporary folder is harmless
	s := &Server{Programs: programs, folder: folder}
	if s.as, err = user(folder); err != nil {
		tb.Fatal(err)
	}
	s.initialize(tb)
	s.run(tb)
	tb.Cleanup(s.stop)
	return s
}

// find returns the folder with the programs of the newest installed server, or "".
func find() string {
	if initdb, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(initdb); err == nil {
			return filepath.Dir(real)
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return ""
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1])
}

func (s *Server) initialize(tb testing.TB) {
	tb.Helper()
	initdb := exec.Command(filepath.Join(s.Programs, "initdb"), "-D", s.data(),
		"--username=kalypso", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
	initdb.SysProcAttr, initdb.Dir = s.as, s.folder
	if output, err := initdb.CombinedOutput(); err != nil {
		tb.Fatalf("initdb: %v\n%s", err, output)
	}
}

func (s *Server) data() string { return filepath.Join(s.folder, "data") }

func (s *Server) run(tb testing.TB) {
	tb.Helper()
	log, err := os.OpenFile(filepath.Join(s.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // the server has its own handle
	s.postgres = exec.Command(filepath.Join(s.Programs, "postgres"), "-D", s.data(), "-k", s.folder, "-p", port,
		"-c", "listen_addresses=", "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "shared_buffers=256MB",
		"-c", "max_wal_size=4GB", "-c", "checkpoint_timeout=30min")
	s.postgres.SysProcAttr, s.postgres.Dir, s.postgres.Stdout, s.postgres.Stderr = s.as, s.folder, log, log
	if err := s.postgres.Start(); err != nil {
		tb.Fatal(err)
	}
	ended := make(chan error, 1)
	go func(server *exec.Cmd) { ended <- server.Wait() }(s.postgres)
	s.ended = ended
	if err := s.wait(ended); err != nil {
		text, _ := os.ReadFile(log.Name())
		tb.Fatalf("start PostgreSQL: %v\n%s", err, text)
	}
}

// stop disconnects all clients and stops the server.
func (s *Server) stop() {
	_ = s.postgres.Process.Signal(os.Interrupt)
	<-s.ended
}

// Restart stops the server abruptly and starts it again.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	s.While(tb, func() {})
}

// While calls do while the server is stopped.
func (s *Server) While(tb testing.TB, do func()) {
	tb.Helper()
	s.stop()
	do()
	s.run(tb)
}

// wait waits until the server accepts connections.
func (s *Server) wait(ended <-chan error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for {
		// The server rejects connections for a while after it starts to listen.
		if conn, err := pgx.Connect(ctx, s.URL("public")); err == nil {
			return conn.Close(ctx)
		}
		select {
		case err := <-ended:
			return errors.Join(errors.New("it ended"), err)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// URL returns the URL of a ledger in a schema, which [Server.Create] creates.
func (s *Server) URL(schema string) string {
	return fmt.Sprintf("postgres://kalypso@/postgres?host=%s&port=%s&options=-csearch_path%%3D%s", s.folder, port, schema)
}

// Create creates an empty schema and returns the URL of a ledger in it.
func (s *Server) Create(tb testing.TB, schema string) string {
	tb.Helper()
	s.SQL(tb, "CREATE SCHEMA "+schema)
	return s.URL(schema)
}

// SQL runs statements with psql and returns the output.
func (s *Server) SQL(tb testing.TB, statements string) string {
	tb.Helper()
	psql := exec.Command(filepath.Join(s.Programs, "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-", s.URL("public"))
	psql.Stdin = strings.NewReader(statements)
	output, err := psql.CombinedOutput()
	if err != nil {
		tb.Fatalf("psql: %v\n%s", err, output)
	}
	return string(output)
}
