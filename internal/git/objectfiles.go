package git

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5"
)

// objectFiles changes how go-git sees and writes the files of an object database.
//
// It hides the list of alternates, which go-git would reopen for every object, and whose relative paths it does not understand.
// This package reads them itself.
//
// It writes the index of a pack to a temporary file first. go-git writes it in place and keeps one that exists:
// another process could read half of it, and what a killed process left would make the next pack of that name unreadable.
type objectFiles struct{ billy.Filesystem }

// Open opens a file for reading.
func (o objectFiles) Open(name string) (billy.File, error) {
	if strings.HasSuffix(filepath.ToSlash(name), "objects/info/alternates") {
		return nil, os.ErrNotExist
	}
	return o.Filesystem.Open(name)
}

// Lstat describes a file. An index without its pack does not exist, so that it is written again.
func (o objectFiles) Lstat(name string) (os.FileInfo, error) {
	if base, ok := strings.CutSuffix(name, ".idx"); ok {
		if _, err := o.Filesystem.Lstat(base + ".pack"); err != nil {
			return nil, err
		}
	}
	return o.Filesystem.Lstat(name)
}

// Create creates a file for writing; the index of a pack is visible when it is closed.
func (o objectFiles) Create(name string) (billy.File, error) {
	if !strings.HasSuffix(name, ".idx") {
		return o.Filesystem.Create(name)
	}
	f, err := o.Filesystem.TempFile(filepath.Dir(name), "tmp_idx_")
	if err != nil {
		return nil, err
	}
	return &writtenIndex{File: f, files: o.Filesystem, name: name}, nil
}

// writtenIndex is the index of a pack while it is written.
type writtenIndex struct {
	billy.File
	files billy.Filesystem
	name  string
	err   error
}

func (p *writtenIndex) Write(b []byte) (int, error) {
	n, err := p.File.Write(b)
	if p.err == nil {
		p.err = err
	}
	return n, err
}

// Close gives the file its name, unless a write failed.
func (p *writtenIndex) Close() error {
	err := p.File.Close()
	if p.err == nil {
		p.err = err
	}
	if p.err != nil {
		_ = p.files.Remove(p.File.Name())
		return err
	}
	return p.files.Rename(p.File.Name(), p.name)
}
