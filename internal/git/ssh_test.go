package git

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// newSSHServer serves the repositories below a folder over ssh, to one key. It returns its address and host key.
func newSSHServer(t *testing.T, root string, allowed ssh.PublicKey) (string, ssh.PublicKey) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	host, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if string(key.Marshal()) != string(allowed.Marshal()) {
			return nil, fmt.Errorf("unknown key")
		}
		return nil, nil
	}}
	config.AddHostKey(host)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serveSSH(conn, config, root)
		}
	}()
	return listener.Addr().String(), host.PublicKey()
}

func serveSSH(conn net.Conn, config *ssh.ServerConfig, root string) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for open := range channels {
		channel, requests, err := open.Accept()
		if err != nil {
			return
		}
		for request := range requests {
			var command struct{ Line string }
			if request.Type != "exec" || ssh.Unmarshal(request.Payload, &command) != nil {
				_ = request.Reply(request.Type == "env", nil)
				continue
			}
			_ = request.Reply(true, nil)
			program, path, _ := strings.Cut(command.Line, " ")
			cmd := exec.Command("git", strings.TrimPrefix(program, "git-"), filepath.Join(root, strings.Trim(path, "'")))
			cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
			// Not cmd.Stdin: Run would wait for the client's input after the program has ended.
			stdin, err := cmd.StdinPipe()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(stdin, channel)
				_ = stdin.Close()
			}()
			status := struct{ Code uint32 }{}
			if cmd.Run() != nil {
				status.Code = 128
			}
			_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(&status))
			_ = channel.Close()
			break
		}
	}
}

// sshHome creates a home folder with a key and known_hosts, and uses it for this process.
func sshHome(t *testing.T) (string, ssh.PublicKey) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	writeFiles(t, home, map[string]string{".ssh/id_ed25519": string(pem.EncodeToMemory(block)), "known_hosts": ""})
	t.Setenv("HOME", home)
	t.Setenv("SSH_AUTH_SOCK", "")
	t.Setenv("SSH_KNOWN_HOSTS", filepath.Join(home, "known_hosts"))
	return home, signer.PublicKey()
}

func TestSSH(t *testing.T) {
	made := newRepo(t, someFiles)
	root := t.TempDir()
	made.git("clone", "-q", "--bare", made.dir, filepath.Join(root, "acme", "shop.git"))
	home, key := sshHome(t)
	address, hostKey := newSSHServer(t, root, key)
	url := "ssh://git@" + address + "/acme/shop.git"

	_, err := openAndResolve(t.Context(), newClient(t, nil), url, "main", "")
	host, port, _ := net.SplitHostPort(address)
	scan := fmt.Sprintf(`; connect once with ssh and confirm its key, or run "ssh-keyscan -p %s %s >> ~/.ssh/known_hosts"`, port, host)
	wantKind(t, err, ErrDenied, "known_hosts does not list its host key"+scan)
	t.Setenv("SSH_KNOWN_HOSTS", filepath.Join(home, "nowhere"))
	_, err = openAndResolve(t.Context(), newClient(t, nil), url, "main", "")
	wantKind(t, err, ErrDenied, "there is no known_hosts file to compare its host key with"+scan)
	t.Setenv("SSH_KNOWN_HOSTS", filepath.Join(home, "known_hosts"))

	writeFiles(t, home, map[string]string{"known_hosts": knownhosts.Line([]string{address}, hostKey) + "\n"})
	r := open(t, newClient(t, nil), url)
	main := resolve(t, r, "main", "")
	if diff := cmp.Diff(someFiles, contents(t, r.Tree(main))); diff != "" {
		t.Error(diff)
	}
	next := mustCommit(t, r, request(main, map[string]string{"x": "y"}))
	if err := r.Push(t.Context(), "kalypso/dev", "", next); err != nil {
		t.Error(err)
	}
	if got := resolve(t, r, "kalypso/dev", ""); got.Hash != next.Hash {
		t.Errorf("the remote has %s", got.Hash)
	}
	_, err = openAndResolve(t.Context(), newClient(t, nil), "ssh://git@"+address+"/acme/none", "main", "")
	wantKind(t, err, ErrRepositoryNotFound)

	writeFiles(t, home, map[string]string{"known_hosts": knownhosts.Line([]string{address}, key) + "\n"})
	_, err = r.Resolve(t.Context(), "main", "")
	wantKind(t, err, ErrDenied, "not the one that known_hosts lists")
}

func TestSSHUnknownKey(t *testing.T) {
	home, _ := sshHome(t)
	_, other, _ := ed25519.GenerateKey(rand.Reader)
	signer, err := ssh.NewSignerFromKey(other)
	if err != nil {
		t.Fatal(err)
	}
	address, hostKey := newSSHServer(t, t.TempDir(), signer.PublicKey())
	writeFiles(t, home, map[string]string{"known_hosts": knownhosts.Line([]string{address}, hostKey) + "\n"})
	_, err = openAndResolve(t.Context(), newClient(t, nil), "ssh://git@"+address+"/x", "main", "")
	wantKind(t, err, ErrDenied, "ssh agent")
}
