package main

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // what Git names objects by
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// The kinds of objects in a pack.
const (
	commitObject = 1
	blobObject   = 3
	refDelta     = 7
)

// pack returns a pack of entries.
func pack(entries ...[]byte) []byte {
	return packOf(len(entries), bytes.Join(entries, nil))
}

// packOf returns a pack that says how many entries it has.
func packOf(count int, entries []byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(count))
	b = append(b, entries...)
	sum := sha1.Sum(b) //nolint:gosec // what Git uses
	return append(b, sum[:]...)
}

// header returns the header of an entry: its kind, and the size of its content.
func header(kind byte, size uint64) []byte {
	b := []byte{kind<<4 | byte(size&15)}
	for size >>= 4; size > 0; size >>= 7 {
		b[len(b)-1] |= 0x80
		b = append(b, byte(size&0x7f))
	}
	return b
}

// entry returns an entry of a pack, compressed.
func entry(kind byte, size uint64, base []byte, content io.Reader) []byte {
	var b bytes.Buffer
	b.Write(header(kind, size))
	b.Write(base)
	z, _ := zlib.NewWriterLevel(&b, zlib.BestCompression)
	_, _ = io.Copy(z, content)
	_ = z.Close()
	return b.Bytes()
}

// zeros returns a blob of zeros, and its name.
func zeros(size int64) (packed, name []byte) {
	h := sha1.New() //nolint:gosec // what Git names objects by
	fmt.Fprintf(h, "blob %d\x00", size)
	_, _ = io.Copy(h, io.LimitReader(zero{}, size))
	return entry(blobObject, uint64(size), nil, io.LimitReader(zero{}, size)), h.Sum(nil)
}

// zero is a reader of zeros without an end.
type zero struct{}

func (zero) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// copies returns a delta that has its base many times.
func copies(of []byte, base, times int) []byte {
	delta := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(base)), uint64(base)*uint64(times))
	for range times {
		for at := 0; at < base; at += 0xffffff {
			n := min(base-at, 0xffffff)
			delta = append(delta, 0xff, byte(at), byte(at>>8), byte(at>>16), byte(at>>24), byte(n), byte(n>>8), byte(n>>16))
		}
	}
	return entry(refDelta, uint64(len(delta)), of, bytes.NewReader(delta))
}

// hostilePacks are packs of a few kilobytes, by their names.
func hostilePacks() map[string][]byte {
	base, name := zeros(16 << 20)
	var many [][]byte
	for range 100 {
		many = append(many, copies(name, 16<<20, 4))
	}
	large, _ := zeros(3 << 30)
	return map[string][]byte{
		"a delta of 20 GB":         pack(base, copies(name, 16<<20, 1200)),
		"a delta of 2 GB":          pack(base, copies(name, 16<<20, 120)),
		"a delta before its base":  pack(copies(name, 16<<20, 1200), base),
		"100 deltas of 64 MB":      pack(append([][]byte{base}, many...)...),
		"a blob of 3 GB":           pack(large),
		"an object that says 1 TB": pack(header(blobObject, 1<<40)),
		"4 billion objects":        packOf(1<<32-1, nil),
		"a commit of 200 MB":       pack(entry(commitObject, 200<<20, nil, io.LimitReader(zero{}, 200<<20))),
		"a list of references":     nil, // the server sends it instead
		"a fetch that never ends":  nil,
	}
}

// packServer is a Git server that answers each fetch of a repository with the pack of its name.
type packServer struct {
	*http.Server
	address string

	mu    sync.Mutex
	packs map[string]func(w http.ResponseWriter)
	asked map[string]bool
}

func newPackServer() (*packServer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &packServer{address: listener.Addr().String(), packs: map[string]func(http.ResponseWriter){}, asked: map[string]bool{}}
	s.Server = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(listener) }()
	return s, nil
}

// serve serves a repository, and returns its URL.
func (s *packServer) serve(name string, answer func(w http.ResponseWriter)) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.packs["/team/"+name] = answer
	return "http://" + s.address + "/team/" + name
}

// line is a line of Git's protocol.
func line(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

// ServeHTTP implements [http.Handler].
func (s *packServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, _, _ := strings.Cut(strings.TrimSuffix(r.URL.Path, ".git"), ".git/")
	path = strings.TrimSuffix(strings.TrimSuffix(path, "/info/refs"), "/git-upload-pack")
	s.mu.Lock()
	answer, known := s.packs[path]
	s.asked[path] = true
	s.mu.Unlock()
	if !known {
		http.NotFound(w, r)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/info/refs") {
		commit := strings.Repeat("12", 20)
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		_, _ = io.WriteString(w, line("# service=git-upload-pack\n")+"0000"+
			line(commit+" HEAD\x00ofs-delta symref=HEAD:refs/heads/main agent=test\n")+line(commit+" refs/heads/main\n"))
		if strings.HasSuffix(path, "references") {
			for i := range 10_000_000 {
				if _, err := io.WriteString(w, line(fmt.Sprintf("%s refs/heads/%08d\n", commit, i))); err != nil {
					return
				}
			}
		}
		_, _ = io.WriteString(w, "0000")
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
	_, _ = io.WriteString(w, line("NAK\n"))
	answer(w)
}

// wasAsked reports whether the server was asked for a repository.
func (s *packServer) wasAsked(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked["/team/"+name]
}
