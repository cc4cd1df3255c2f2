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

// Limits of a run's time.
const (
	defaultTimeout = 10 * time.Minute
	longestTimeout = time.Hour
)

// Command is the command line of a scan for one digest.
type Command struct {
	// Args are the program and its arguments, with a placeholder for the folder of the files.
	Args []string
	// Timeout is the maximum time of the run.
	Timeout time.Duration
	// Files are the files to write to that folder; empty for an image.
	Files []chart.File
}

// CommandOf returns the command of a scan for a digest. reference is the argument for the program; for an image, with the digest.
func CommandOf(s check.Scan, reference, digest string, files []chart.File) Command {
	c := Command{Args: slices.Clone(s.Args), Timeout: defaultTimeout, Files: files}
	if s.Timeout > 0 {
		c.Timeout = min(s.Timeout, longestTimeout)
	}
	fill := strings.NewReplacer(v1alpha1.ScanReference, reference, v1alpha1.ScanDigest, digest)
	for i := range c.Args {
		if i > 0 { // only the policy selects the program
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

// Ended is the result of a completed run.
type Ended struct {
	Code int // the exit code
	// Output is the sanitized end of the output.
	Output string
}

// ErrNotAllowed means that the operator did not allow a program.
var ErrNotAllowed = errors.New("the program is not allowed")

// Key identifies a scan of a digest by what is run, not by name or level, as hexadecimal digits.
func Key(s check.Scan, digest string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %d %q", s.What, s.Args, exitCodes(s), digest)
	if s.Signatures != nil {
		fmt.Fprintf(h, " %q %q", s.Signatures.Keys, s.Signatures.Require)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// exitCodes returns the sorted exit codes that mean that the program found something.
func exitCodes(s check.Scan) []int {
	if len(s.ExitCodes) == 0 {
		return []int{1}
	}
	return slices.Sorted(slices.Values(s.ExitCodes))
}
