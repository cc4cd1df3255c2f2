package local

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// bomb returns a pack of a few kilobytes with an object of gigabytes: a delta that copies an object of 16 MiB of zeros many times.
func bomb(copies int) []byte {
	const size = 16 << 20
	blob := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", size), make([]byte, size)...))
	delta := binary.AppendUvarint(binary.AppendUvarint(nil, size), uint64(size*copies))
	for range copies {
		delta = append(delta, 0xf0, 0xff, 0xff, 0xff, 0x91, 0xff, 0xff, 0xff, 1) // all but a byte, then the last byte
	}
	pack := []byte("PACK\x00\x00\x00\x02\x00\x00\x00\x02")
	pack = appendEntry(pack, 3, make([]byte, size), nil)
	pack = appendEntry(pack, 7, delta, blob[:])
	sum := sha1.Sum(pack)
	return append(pack, sum[:]...)
}

// appendEntry appends an entry of a pack: its type and size, the base of a delta, and the content.
func appendEntry(pack []byte, kind byte, content, base []byte) []byte {
	first, size := kind<<4|byte(len(content)&15), len(content)>>4
	for ; size > 0; size >>= 7 {
		pack = append(pack, first|0x80)
		first = byte(size & 0x7f)
	}
	b := bytes.NewBuffer(append(append(pack, first), base...))
	z := zlib.NewWriter(b)
	_, _ = z.Write(content)
	_ = z.Close()
	return b.Bytes()
}

// A push whose objects need gigabytes is refused before git makes them, and the answer says so beside the reference.
func TestPushOfABombIsRefused(t *testing.T) {
	f := serve(t, Options{})
	r := newRepository(t, f)
	secret, _, err := f.CreateToken(t.Context(), "test", Account{Name: "dev", Right: Write})
	if err != nil {
		t.Fatal(err)
	}
	command := strings.Repeat("0", 40) + " " + strings.Repeat("1", 40) + " refs/heads/bomb\x00report-status side-band-64k agent=test"
	body := append(fmt.Appendf(nil, "%04x%s0000", len(command)+4, command), bomb(1200)...)
	request, _ := http.NewRequest(http.MethodPost, f.site.URL()+"/"+r.id.Path+".git/git-receive-pack", bytes.NewReader(body))
	request.Header.Set("Authorization", "Bearer "+secret.Reveal())
	request.Header.Set("Content-Type", "application/x-git-receive-pack-request")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	want := fmt.Sprintf("ng refs/heads/bomb push to %q: content too large: this is a pack with contents of more than", r.id.Path)
	if !bytes.Contains(text, []byte(want)) {
		t.Errorf("the answer is %d %q", answer.StatusCode, text)
	}
}

func TestGitHasLimits(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the system has no such limits")
	}
	program := filepath.Join(t.TempDir(), "git")
	script := "#!/bin/sh\n[ \"$1\" = version ] && exec echo git version 2.50.0\nprintf 'Content-Type: text/plain\\r\\n\\r\\n'; echo $@ $(ulimit -d) $(ulimit -t)\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	f := serve(t, Options{Git: program})
	r := newRepository(t, f)
	secret, _, err := f.CreateToken(t.Context(), "test", Account{Name: "dev", Right: Write})
	if err != nil {
		t.Fatal(err)
	}
	request, _ := http.NewRequest(http.MethodGet, f.site.URL()+"/"+r.id.Path+"/info/refs?service=git-upload-pack", nil)
	request.Header.Set("Authorization", "Bearer "+secret.Reveal())
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); string(text) != fmt.Sprintf("http-backend %d %d\n", maxGitMemory, maxGitProcessor) {
		t.Errorf("the program has %q", text)
	}
}
