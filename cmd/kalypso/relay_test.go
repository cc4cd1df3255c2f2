//go:build unix

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Tests start kalypso some 1,500 times, and starting it is most of what a short command does. So the program of that name on the PATH of
// tests is a relay, testdata/relay. It passes its command line, environment, folder and streams to a runner: a process that runs one command
// after the other.
//
//	script ── exec ──► relay ── connection ──► tests ── the same connection ──► runner, which answers with the exit code
//
// A runner that is interrupted with its relay, or fails, ends. The next command gets another one.

// runnerCommand is the argument with which a runner is started.
const runnerCommand = "run-for-relays"

// scriptProxy is where the programs of scripts ask for other hosts; nothing answers there. A process reads this variable only once.
const scriptProxy = "http://127.0.0.1:1"

// startRelay puts a relay on the PATH, before the folder with the real programs, and serves it until stop is called.
func startRelay(programs string) (stop func(), err error) {
	if _, err := os.Stat("testdata/relay/main.go"); err != nil { // a changed relay runs the tests again
		return nil, err
	}
	folder, err := os.MkdirTemp("", "relay")
	if err != nil {
		return nil, err
	}
	relay := filepath.Join(folder, "kalypso")
	if out, err := exec.Command("go", "build", "-o", relay, "./testdata/relay").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the relay: %w: %s", err, out)
	}
	err = errors.Join(
		os.Link(relay, filepath.Join(folder, "masked")),
		os.Symlink(programs, filepath.Join(folder, "programs")),
		os.WriteFile(filepath.Join(folder, "proxy"), []byte(scriptProxy), 0o600),
		os.Setenv("PATH", folder+string(filepath.ListSeparator)+os.Getenv("PATH")),
	)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", filepath.Join(folder, "socket"))
	if err != nil {
		return nil, err
	}
	runners := &runnerPool{program: filepath.Join(programs, "kalypso")}
	go runners.serve(listener.(*net.UnixListener))
	return func() {
		_ = listener.Close() // it served until now
		runners.stop()
		_ = os.RemoveAll(folder)
	}, nil
}

// runnerPool has the runners. A relay gets one that is idle, or a new one.
type runnerPool struct {
	program string

	mu   sync.Mutex
	idle []*net.UnixConn // to runners
	all  []*net.UnixConn

	running sync.WaitGroup
}

// serve passes connections of relays to runners.
func (p *runnerPool) serve(listener *net.UnixListener) {
	for {
		relay, err := listener.AcceptUnix()
		if err != nil {
			return
		}
		if err := p.pass(relay); err != nil {
			fmt.Fprintln(os.Stderr, "pass a command to a runner:", err)
		}
		_ = relay.Close() // the runner has its own
	}
}

func (p *runnerPool) pass(relay *net.UnixConn) error {
	file, err := relay.File()
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // the runner has its own
	for {
		runner, err := p.take()
		if err != nil {
			return err
		}
		if _, _, err = runner.WriteMsgUnix([]byte{0}, syscall.UnixRights(int(file.Fd())), nil); err == nil {
			return nil
		}
		// An idle runner can have ended with the relay it answered last.
	}
}

// take returns a runner that is idle, or starts one.
func (p *runnerPool) take() (*net.UnixConn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.idle) - 1; last >= 0 {
		runner := p.idle[last]
		p.idle = p.idle[:last]
		return runner, nil
	}
	runner, theirs, err := connectedSockets()
	if err != nil {
		return nil, err
	}
	defer theirs.Close() //nolint:errcheck // the runner has its own
	cmd := exec.Command(p.program, runnerCommand)
	cmd.Env = append(cmd.Environ(), "HTTPS_PROXY="+scriptProxy)
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Stderr = os.Stderr // a command does not write to it, only the runtime if it fails
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.all = append(p.all, runner)
	p.running.Go(func() {
		for ready := make([]byte, 1); ; {
			if _, err := io.ReadFull(runner, ready); err != nil {
				break
			}
			p.mu.Lock()
			p.idle = append(p.idle, runner)
			p.mu.Unlock()
		}
		_ = runner.Close() // the runner has ended
		_ = cmd.Wait()     // its errors are on stderr
	})
	return runner, nil
}

// connectedSockets returns two ends of a connection, which no other program inherits.
func connectedSockets() (ours *net.UnixConn, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(pair[0])
		syscall.CloseOnExec(pair[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	theirs = os.NewFile(uintptr(pair[1]), "runner")
	ours, err = unixConnection(pair[0])
	return ours, theirs, err
}

// stop ends all runners.
func (p *runnerPool) stop() {
	p.mu.Lock()
	for _, runner := range p.all {
		_ = runner.CloseWrite() // it may have ended
	}
	p.mu.Unlock()
	p.running.Wait()
}

// unixConnection takes over a file descriptor.
func unixConnection(fd int) (*net.UnixConn, error) {
	file := os.NewFile(uintptr(fd), "socket")
	defer file.Close() //nolint:errcheck // the connection has its own
	connection, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	return connection.(*net.UnixConn), nil
}

// runForRelays is the runner: it runs commands until the tests end.
func runForRelays() {
	tests, err := unixConnection(3)
	local := time.Local
	for err == nil {
		var files []int
		if files, err = receive(tests, make([]byte, 1)); err != nil {
			break
		}
		var relay *net.UnixConn
		if relay, err = unixConnection(files[0]); err != nil {
			break
		}
		err = runForRelay(relay, tests, local)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, "runner:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// receive reads a message with file descriptors.
func receive(from *net.UnixConn, message []byte) ([]int, error) {
	rights := make([]byte, 128)
	n, size, _, _, err := from.ReadMsgUnix(message, rights)
	if err == nil && n < len(message) {
		err = io.EOF
	}
	if err == nil && size == 0 {
		err = errors.New("a message has no files")
	}
	if err != nil {
		return nil, err
	}
	parsed, err := syscall.ParseSocketControlMessage(rights[:size])
	if err != nil {
		return nil, err
	}
	return syscall.ParseUnixRights(&parsed[0])
}

// runForRelay runs the command of a relay, and says that it is ready for the next one before the relay knows that this one has ended.
func runForRelay(relay, tests *net.UnixConn, local *time.Location) error {
	defer relay.Close() //nolint:errcheck // it has the answer
	size := make([]byte, 4)
	fds, err := receive(relay, size)
	if err != nil {
		return nil //nolint:nilerr // the relay has ended
	}
	var streams []*os.File
	for _, fd := range fds {
		streams = append(streams, os.NewFile(uintptr(fd), "stream"))
	}
	request := make([]byte, binary.BigEndian.Uint32(size))
	if _, err := io.ReadFull(relay, request); err != nil {
		return nil //nolint:nilerr // the relay has ended
	}
	answered := make(chan struct{})
	go func() {
		_, _ = relay.Read(size) // it writes no more: this ends with the relay
		select {
		case <-answered:
		default:
			os.Exit(1) // the command was interrupted
		}
	}()
	fields := strings.Split(string(request), "\x00")
	count, err := strconv.Atoi(fields[2])
	if err != nil {
		return err
	}
	if err := becomeProcess(fields[0], fields[3+count:], local); err != nil {
		return err
	}
	code := programs[fields[1]](fields[3:3+count], fields[3+count:], streams[0], streams[1], streams[2])
	for _, stream := range streams {
		_ = stream.Close() // as at the end of a process
	}
	close(answered)
	if err := os.Chdir("/"); err != nil { // the folder can be removed
		return err
	}
	if _, err := tests.Write([]byte{0}); err != nil {
		return err
	}
	_, _ = relay.Write([]byte{byte(code)}) // it may have ended
	return nil
}

// becomeProcess gives this process the folder, the environment and the time zone of the one whose command it runs.
func becomeProcess(folder string, env []string, local *time.Location) error {
	os.Clearenv()
	time.Local = local
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if err := os.Setenv(name, value); err != nil {
			return err
		}
		if name == "TZ" {
			zone, err := time.LoadLocation(value)
			if err != nil {
				return err
			}
			time.Local = zone
		}
	}
	return os.Chdir(folder)
}
