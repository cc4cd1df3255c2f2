// Package postgrestest starts a real PostgreSQL server for tests, if one is installed.
//
// The server belongs to one test: it listens on a socket in its own folder, does not sync to disk, and stops when the
// test ends. PostgreSQL refuses to run as root. In that case it runs as the user
// postgres or nobody, who becomes the folder's owner.
package postgrestest
