package main

import (
	"archive/tar"
	"archive/zip"
	"compress/flate"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"
)

// entry is a file of an archive. Its owner is root, and its time that of the commit.
type entry struct {
	name    string
	mode    int64
	content []byte
	link    string // of a symbolic link
}

// writeArchive writes a program with the documents: a zip file for Windows, a tar file for all others.
func (r *release) writeArchive(b *binary) error {
	program, err := os.ReadFile(b.path)
	if err != nil {
		return err
	}
	folder := fmt.Sprintf("%s_%s_%s", b.Name, r.version, b.suffix())
	suffix := ""
	if b.OS == "windows" {
		suffix = ".exe"
	}
	entries := []entry{{name: b.Name + suffix, mode: 0o755, content: program}}
	switch {
	case b.Plugin != "" && b.OS == "windows":
		entries = append(entries, entry{name: b.Plugin + suffix, mode: 0o755, content: program})
	case b.Plugin != "":
		entries = append(entries, entry{name: b.Plugin, link: b.Name})
	}
	licenses, err := r.licenseEntries(b)
	if err != nil {
		return err
	}
	entries = append(entries, licenses...)
	for _, name := range r.Files {
		content, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return err
		}
		entries = append(entries, entry{name: path.Base(name), mode: 0o644, content: content})
	}
	for i := range entries {
		entries[i].name = folder + "/" + entries[i].name
	}
	if b.OS == "windows" {
		return create(filepath.Join(r.out, folder+".zip"), func(w io.Writer) error { return writeZip(w, entries, r.time) })
	}
	return create(filepath.Join(r.out, folder+".tar.gz"), func(w io.Writer) error { return writeTarGz(w, entries, r.time) })
}

// create writes a new file.
func create(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return fmt.Errorf("write %s: %w", name, err)
	}
	return f.Close()
}

func writeTarGz(w io.Writer, entries []entry, at time.Time) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := writeTar(z, entries, at); err != nil {
		return err
	}
	return z.Close()
}

func writeTar(w io.Writer, entries []entry, at time.Time) error {
	t := tar.NewWriter(w)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.content)), ModTime: at, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		switch {
		case e.link != "":
			header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, e.link, 0o777
		case e.name[len(e.name)-1] == '/':
			header.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(header); err != nil {
			return err
		}
		if _, err := t.Write(e.content); err != nil {
			return err
		}
	}
	return t.Close()
}

func writeZip(w io.Writer, entries []entry, at time.Time) error {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestCompression) })
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		header.SetMode(os.FileMode(e.mode))
		f, err := z.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := f.Write(e.content); err != nil {
			return err
		}
	}
	return z.Close()
}
