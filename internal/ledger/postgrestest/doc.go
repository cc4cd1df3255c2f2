// Package postgrestest starts a real PostgreSQL server for tests, where one is installed.
//
// The server belongs to one test: it listens on a socket in a folder of its own, writes nothing durably, and ends with
// the test. PostgreSQL refuses to run as root; then it runs as the user postgres or nobody, to whom the folder is given.
package postgrestest
