package artifact

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPackAndUnpack(t *testing.T) {
	t.Parallel()
	files := []File{{"b/c.yaml", []byte("c")}, {"a.yaml", []byte("a")}, {"b.yaml", nil}}
	archive, digest, err := Pack(files)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(files)
	again, same, err := Pack(files)
	if err != nil || digest != same || !bytes.Equal(archive, again) {
		t.Errorf("the order of the files changes the archive: %v", err)
	}
	got, err := Unpack(archive)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]File{{"a.yaml", []byte("a")}, {"b.yaml", []byte{}}, {"b/c.yaml", []byte("c")}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPackRefuses(t *testing.T) {
	t.Parallel()
	many := make([]File, MaxFiles+1)
	for i := range many {
		many[i].Path = fmt.Sprint(i)
	}
	for want, files := range map[string][]File{
		"is not a path in a folder": {{Path: "../a"}}, "is there twice": {{Path: "a"}, {Path: "a"}}, "it is too large": many,
		"16 MiB": {{Path: "a", Content: make([]byte, MaxContent+1)}},
	} {
		if _, _, err := Pack(files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// archiveOf returns an archive that [Pack] would not make.
func archiveOf(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range headers {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		for left := h.Size; left > 0; left -= min(left, 1<<20) {
			if _, err := w.Write(make([]byte, min(left, 1<<20))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	regular := func(name string, size int64) tar.Header {
		return tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size}
	}
	for want, archive := range map[string][]byte{
		`"../../etc/passwd" is not a path`: archiveOf(t, regular("../../etc/passwd", 1)),
		`"/etc/passwd" is not a path`:      archiveOf(t, regular("/etc/passwd", 1)),
		"is not a regular file":            archiveOf(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "a", Linkname: "/etc"}),
		"it is too large":                  archiveOf(t, regular("bomb", 200<<20)),
		"read the archive":                 []byte("not one"),
		"unexpected EOF":                   archiveOf(t, regular("a", 1000))[:60],
	} {
		if _, err := Unpack(archive); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	archive, _, err := Pack([]File{{"a.yaml", []byte("a: 1\n")}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(archive)
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		files, err := Unpack(archive)
		if err != nil {
			return
		}
		if len(files) > MaxFiles {
			t.Errorf("%d files", len(files))
		}
		for _, file := range files {
			if err := checkPath(file.Path); err != nil {
				t.Error(err)
			}
		}
	})
}
