package postgrestest

import "syscall"

// user returns nil: the server runs as the test's user.
func user(string) (*syscall.SysProcAttr, error) { return nil, nil }
