//go:build unix

package postgrestest

import (
	"fmt"
	"os"
	osuser "os/user"
	"strconv"
	"syscall"
)

// user returns the credentials for the server if the test runs as root, and
// makes that user the folder's owner. Nil otherwise.
func user(folder string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := osuser.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("user id of %q: %w", name, err)
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("group id of %q: %w", name, err)
		}
		attributes := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		return attributes, os.Chown(folder, int(uid), int(gid))
	}
	return nil, fmt.Errorf("PostgreSQL does not run as root, and there is no user postgres or nobody")
}
