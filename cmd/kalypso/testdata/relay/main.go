// Command relay is the program kalypso of the scripts: it starts in a millisecond, and lets a process run the command that runs one after the
// other; see relay_test.go. Commands that run on and on, and those of another proxy, run in a process of their own.
//
// Beside the program are the folder "programs" with the real ones, the file "proxy" and the socket "socket".
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	code, err := relay()
	if err != nil {
		fmt.Fprintln(os.Stderr, "relay:", err)
		code = 70
	}
	os.Exit(code)
}

func relay() (code int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return 0, err
	}
	folder, name := filepath.Dir(self), filepath.Base(os.Args[0])
	proxy, err := os.ReadFile(filepath.Join(folder, "proxy"))
	if err != nil {
		return 0, err
	}
	if ownProcess(os.Args[1:]) || limited() || os.Getenv("HTTPS_PROXY") != string(proxy) {
		return 0, syscall.Exec(filepath.Join(folder, "programs", name), os.Args, os.Environ())
	}
	return ask(filepath.Join(folder, "socket"), name)
}

// ownProcess reports whether a command line is that of a program that runs on and on.
func ownProcess(args []string) bool {
	return len(args) == 0 || slices.Contains([]string{"serve", "agent", "operator", "mcp"}, args[0]) || args[0] == "sample" && slices.Contains(args, "up")
}

// limited reports whether the size of the files that this process writes is limited.
func limited() bool {
	var limit syscall.Rlimit
	return syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit) == nil && limit.Cur < 1<<40
}

// ask lets a process run the command line, with the streams of this one, and returns its exit code.
func ask(socket, name string) (code int, err error) {
	here, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	fields := slices.Concat([]string{here, name, fmt.Sprint(len(os.Args) - 1)}, os.Args[1:], os.Environ())
	body := strings.Join(fields, "\x00")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return 0, err
	}
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket}); err != nil {
		return 0, err
	}
	size := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	if err := syscall.Sendmsg(fd, size, syscall.UnixRights(0, 1, 2), nil, 0); err != nil {
		return 0, err
	}
	connection := os.NewFile(uintptr(fd), "socket")
	if _, err := connection.WriteString(body); err != nil {
		return 0, err
	}
	answer := make([]byte, 1)
	if _, err := connection.Read(answer); err != nil {
		return 0, fmt.Errorf("the process that ran the command has ended: %w", err)
	}
	return int(answer[0]), nil
}
