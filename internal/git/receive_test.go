package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// Packs that git makes have the index that git writes.
func TestReceivedPacksHaveTheIndexOfGit(t *testing.T) {
	for name, repack := range map[string][]string{
		"deltas by offset": {"repack", "-adf", "--depth=100", "--window=50"},
		"deltas by name":   {"-c", "repack.useDeltaBaseOffset=false", "repack", "-adf", "--depth=100", "--window=50"},
		"no deltas":        {"repack", "-adF", "--depth=0"},
		"large objects":    {"-c", "core.bigFileThreshold=1k", "repack", "-adf"},
	} {
		t.Run(name, func(t *testing.T) {
			made := newRepo(t, nil)
			for i, content := range versions(30) {
				made.commit("version", map[string]string{"file.txt": content, fmt.Sprintf("dir/%d", i): content[:10]})
			}
			made.git(repack...)
			idx, pack := thePack(t, filepath.Join(made.dir, ".git"))
			dir := t.TempDir()
			content, err := os.Open(pack)
			if err != nil {
				t.Fatal(err)
			}
			defer content.Close()
			if err := receivePack(t.Context(), dir, content, Limits{}); err != nil {
				t.Fatal(err)
			}
			want, _ := os.ReadFile(idx)
			got, err := os.ReadFile(filepath.Join(dir, filepath.Base(idx)))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("another index: %v", err)
			}
			files, _ := os.ReadDir(dir)
			if len(files) != 2 {
				t.Errorf("%d files", len(files))
			}
		})
	}
}

// packOf returns a pack of entries.
func packOf(entries ...[]byte) []byte {
	pack := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(entries)))
	for _, e := range entries {
		pack = append(pack, e...)
	}
	sum := sha1.Sum(pack)
	return append(pack, sum[:]...)
}

// packedEntry returns an entry of a pack.
func packedEntry(kind plumbing.ObjectType, size int, name *plumbing.Hash, content io.Reader) []byte {
	var b bytes.Buffer
	b.Write(objectHeader(kind, size))
	if name != nil {
		b.Write(name[:])
	}
	z, _ := zlib.NewWriterLevel(&b, zlib.BestCompression)
	_, _ = io.Copy(z, content)
	_ = z.Close()
	return b.Bytes()
}

// zeros is an object of zeros, and its hash.
func zeros(size int) ([]byte, plumbing.Hash) {
	content := make([]byte, size)
	return packedEntry(plumbing.BlobObject, size, nil, bytes.NewReader(content)), objectHash(plumbing.BlobObject, content)
}

// copies returns a delta that copies the whole base some times.
func copies(of plumbing.Hash, base, times int) []byte {
	const most = 1<<24 - 1
	delta := binary.AppendUvarint(nil, uint64(base))
	delta = binary.AppendUvarint(delta, uint64(base)*uint64(times))
	for range times {
		for from := 0; from < base; from += most {
			n := min(most, base-from)
			delta = append(delta, 0xff, byte(from), byte(from>>8), byte(from>>16), byte(from>>24), byte(n), byte(n>>8), byte(n>>16))
		}
	}
	return packedEntry(plumbing.REFDeltaObject, len(delta), &of, bytes.NewReader(delta))
}

// A pack of a few kilobytes can have objects of many gigabytes. It is refused before they are made.
func TestHostilePacksAreRefusedWhileTheyAreReceived(t *testing.T) {
	base, hash := zeros(16 << 20)
	many := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), 1<<32-1)
	for name, tt := range map[string]struct {
		pack   []byte
		limits Limits
		want   string
	}{
		"a delta of 20 GB":            {packOf(base, copies(hash, 16<<20, 1200)), Limits{}, "more than 1073741824 bytes"},
		"a delta before its base":     {packOf(copies(hash, 16<<20, 1200), base), Limits{}, ""},
		"many deltas of 64 MB":        {packOf(append([][]byte{base}, repeated(copies(hash, 16<<20, 4), 100)...)...), Limits{}, ""},
		"too many objects":            {many, Limits{}, "more than 4000000 objects"},
		"objects beyond the limit":    {packOf(base), Limits{Content: 1 << 20}, "more than 1048576 bytes"},
		"a delta beyond the limit":    {packOf(base, copies(hash, 16<<20, 2)), Limits{Content: 33 << 20}, "more than 34603008 bytes"},
		"a base that is too large":    {packOf(hugeDelta(plumbing.NewHash("01"))), Limits{}, "more than 134217728 bytes"},
		"an object of many gigabytes": {packOf(objectHeader(plumbing.BlobObject, 1<<40)), Limits{}, "more than 68719476736 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			url := hostileServer(t, tt.pack)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := tryResolve(t, limitedClient(t, tt.limits), url)
			runtime.ReadMemStats(&after)
			wantKind(t, err, ErrTooLarge, url)
			if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
				t.Errorf("%d MB were allocated", took>>20)
			}
		})
	}
}

func repeated(entry []byte, n int) (all [][]byte) {
	for range n {
		all = append(all, entry)
	}
	return all
}

// hugeDelta is a delta whose base would have a gigabyte.
func hugeDelta(of plumbing.Hash) []byte {
	delta := binary.AppendUvarint(binary.AppendUvarint(nil, 1<<30), 1)
	return packedEntry(plumbing.REFDeltaObject, len(delta)+1, &of, bytes.NewReader(append(delta, 1)))
}

// hostileServer answers every fetch with a pack.
func hostileServer(t *testing.T, pack []byte) string {
	t.Helper()
	line := func(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }
	commit := strings.Repeat("12", 20)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/info/refs") {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			_, _ = io.WriteString(w, line("# service=git-upload-pack\n")+"0000"+
				line(commit+" HEAD\x00ofs-delta symref=HEAD:refs/heads/main agent=test\n")+line(commit+" refs/heads/main\n")+"0000")
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		_, _ = io.WriteString(w, line("NAK\n"))
		_, _ = w.Write(pack)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/team/repository"
}

// It is not fetched again and again, and does not pause the other repositories of its host.
func TestARefusedRepositoryIsNotFetchedAgainSoon(t *testing.T) {
	many := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), 1<<32-1)
	url := hostileServer(t, many)
	c := limitedClient(t, Limits{})
	for i := range pausesHost {
		wantKind(t, tryResolve(t, c, fmt.Sprintf("%s/%d", url, i)), ErrTooLarge, url)
	}
	fetched := false
	c.Progress = func(line string) { fetched = fetched || strings.HasPrefix(line, "fetching") }
	wantKind(t, tryResolve(t, c, url+"/0"), ErrTooLarge, url)
	if fetched {
		t.Error("it was fetched again")
	}
	wantKind(t, tryResolve(t, c, url+"/another"), ErrTooLarge, url)
	if !fetched {
		t.Error("another repository of the host was not fetched")
	}
}

// Large objects with deltas to them are made one after the other, and their contents are dropped and made again.
func TestLargeDeltasAreResolvedInLittleMemory(t *testing.T) {
	const size = 12 << 20
	entries := [][]byte{}
	content := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	entries = append(entries, packedEntry(plumbing.BlobObject, size, nil, bytes.NewReader(content)))
	want := map[plumbing.Hash]bool{objectHash(plumbing.BlobObject, content): true}
	// Each object but the last is the base of two others, so all wait for the last one.
	last := objectHash(plumbing.BlobObject, content)
	for i := range 8 {
		next := last
		for side := range 2 {
			changed := bytes.Clone(content)
			changed[0], changed[1] = byte(i), byte(side)
			entries = append(entries, changeStart(last, size, changed[:2]))
			next = objectHash(plumbing.BlobObject, changed)
			want[next] = true
		}
		last = next
	}
	dir := t.TempDir()
	if err := receivePack(t.Context(), dir, bytes.NewReader(packOf(entries...)), Limits{}); err != nil {
		t.Fatal(err)
	}
	p := &packs{dir: dir}
	defer p.close()
	for hash := range want {
		kind, content, err := p.read(hash, size)
		if err != nil || objectHash(kind, content) != hash {
			t.Errorf("%s: %v", hash, err)
		}
	}
}

// changeStart returns a delta that changes the first bytes of its base.
func changeStart(of plumbing.Hash, size int, start []byte) []byte {
	delta := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(size)), uint64(size))
	delta = append(append(delta, byte(len(start))), start...)
	n := size - len(start)
	delta = append(delta, 0x80|1|0x70, byte(len(start)), byte(n), byte(n>>8), byte(n>>16))
	return packedEntry(plumbing.REFDeltaObject, len(delta), &of, bytes.NewReader(delta))
}

func TestDamagedPacksAreNotStored(t *testing.T) {
	base, hash := zeros(100)
	good := packOf(base, copies(hash, 100, 2))
	wrongSum := bytes.Clone(good)
	wrongSum[len(wrongSum)-1]++
	for name, pack := range map[string][]byte{
		"empty":              {},
		"cut":                good[:len(good)-30],
		"without its sum":    good[:len(good)-20],
		"another sum":        wrongSum,
		"more than a pack":   append(bytes.Clone(good), 0),
		"a delta to nothing": packOf(base, copies(plumbing.NewHash("01"), 100, 2)),
		"of another size":    packOf(base, copies(hash, 99, 2)),
		"too short":          packOf(packedEntry(plumbing.BlobObject, 5, nil, strings.NewReader("1234"))),
		"too long":           packOf(packedEntry(plumbing.BlobObject, 5, nil, strings.NewReader("123456"))),
		"no type":            packOf(packedEntry(5, 4, nil, strings.NewReader("1234"))),
		"no pack":            []byte("this is not what Git sends"),
	} {
		dir := t.TempDir()
		err := receivePack(t.Context(), dir, bytes.NewReader(pack), Limits{})
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if files, _ := os.ReadDir(dir); len(files) > 0 {
			t.Errorf("%s: %v is left", name, files)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := receivePack(ctx, t.TempDir(), bytes.NewReader(good), Limits{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// FuzzReceivePack receives arbitrary packs. What is accepted has an index in which everything is found.
func FuzzReceivePack(f *testing.F) {
	base, hash := zeros(100)
	f.Add(packOf(base, copies(hash, 100, 2)))
	f.Add(packOf(copies(hash, 100, 2), base))
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) > 20 {
			sum := sha1.Sum(content[:len(content)-20])
			content = append(content[:len(content)-20:len(content)-20], sum[:]...)
		}
		dir := t.TempDir()
		if err := receivePack(t.Context(), dir, bytes.NewReader(content), Limits{Content: 1 << 20}); err != nil {
			return
		}
		p := &packs{dir: dir}
		defer p.close()
		all, err := p.all()
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range all {
			for i := 0; i < len(x.names); i += 20 {
				name := plumbing.Hash(x.names[i : i+20])
				kind, content, err := p.read(name, 1<<20)
				if err != nil || objectHash(kind, content) != name {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	})
}
