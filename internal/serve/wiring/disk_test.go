package wiring

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestAFullDiskIsNoticed(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no file that is always full")
	}
	dir := t.TempDir()
	d := newDisk(dir)
	if d.full() {
		t.Error("the disk of the test is full")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
	d = newDisk(dir)
	d.create = func() (*os.File, func(), error) {
		f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		return f, func() {}, err
	}
	if !d.full() {
		t.Error("it was not noticed")
	}
}

// TestAFullDiskElsewhereIsNoticed uses a ledger on another machine.
func TestAFullDiskElsewhereIsNoticed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t.TempDir())
		d.note(errors.New("other"))
		if d.full() {
			t.Error("another error counts")
		}
		d.note(fmt.Errorf("store: %w", syscall.ENOSPC))
		if !d.full() {
			t.Error("it was not noticed")
		}
		time.Sleep(2 * fullFor)
		if d.full() {
			t.Error("it counts for ever")
		}
	})
}
