package postgrestest

import "syscall"

// user returns as whom the server runs: as the user of the test.
func user(string) (*syscall.SysProcAttr, error) { return nil, nil }
