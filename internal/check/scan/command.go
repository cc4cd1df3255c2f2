package scan

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/check"
)

// The time that a run may take.
const (
	defaultTimeout = 10 * time.Minute
	longestTimeout = time.Hour
)

// Command is a program to be run on one digest.
type Command struct {
	// Args are the program and its arguments, with a placeholder for the folder of the files.
	Args []string
	// Timeout is how long it may take.
	Timeout time.Duration
	// Files are to lie in that folder; none for an image.
	Files []chart.File
}

// CommandOf is what a scan runs on a digest. reference names it for the program: for an image with its digest.
func CommandOf(s check.Scan, reference, digest string, files []chart.File) Command {
	c := Command{Args: slices.Clone(s.Args), Timeout: defaultTimeout, Files: files}
	if s.Timeout > 0 {
		c.Timeout = min(s.Timeout, longestTimeout)
	}
	fill := strings.NewReplacer(v1alpha1.ScanReference, reference, v1alpha1.ScanDigest, digest)
	for i := range c.Args {
		if i > 0 { // which program runs is nobody's to say but the policy's
			c.Args[i] = fill.Replace(c.Args[i])
		}
	}
	return c
}

// In returns the arguments for a folder with the files.
func (c Command) In(folder string) []string {
	args := slices.Clone(c.Args)
	for i := range args {
		if i > 0 {
			args[i] = strings.ReplaceAll(args[i], v1alpha1.ScanPath, folder)
		}
	}
	return args
}

// Ended is how a run ended.
type Ended struct {
	// Code is the exit code.
	Code int
	// Output is the end of what it wrote, on clean lines.
	Output string
}

// ErrNotAllowed says that nobody allowed a program.
var ErrNotAllowed = errors.New("the program is not allowed")

// Key identifies a scan of a digest by what is run, whatever it is called and however much it counts.
// It is a word of hexadecimal digits.
func Key(s check.Scan, digest string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %d %q", s.What, s.Args, exitCodes(s), digest)
	return hex.EncodeToString(h.Sum(nil))
}

// exitCodes are those by which a scan says that it found something, sorted.
func exitCodes(s check.Scan) []int {
	if len(s.ExitCodes) == 0 {
		return []int{1}
	}
	return slices.Sorted(slices.Values(s.ExitCodes))
}
