package verify

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Runner runs verifications. The zero value asks public URLs, and runs no program. It is safe for concurrent use.
type Runner struct {
	// Programs are those that may be run, by their whole paths.
	Programs []string
	// Any allows every program to scans, those of the PATH by their names: for who runs them by hand, or in a job of CI.
	Any bool
	// Hosts are names and addresses that may be asked though they are private to this machine or network. Addresses at which
	// clouds tell secrets are asked only when they are listed themselves, whatever names lead there.
	Hosts []string
	// Path is the PATH that programs get; empty means /usr/local/bin:/usr/bin:/bin.
	Path string
	// Temp is the folder in which each program gets an empty one; empty means that of the system.
	Temp string
}

// The limits of a verification, unless it sets another time itself.
const (
	requestTimeout = 30 * time.Second
	programTimeout = 10 * time.Minute
	// longest is the longest time that any may take, whatever it sets.
	longest = time.Hour
	// maxOutput is how many bytes of the output are kept, from its end.
	maxOutput = 4 << 10
)

// Run runs a verification, which passed when there is no error. The error says why it did not, and what to do when it cannot.
func (r *Runner) Run(ctx context.Context, check decide.RunCheck) (output string, err error) {
	v := check.Check.Verification
	switch {
	case v.HTTP != nil:
		ctx, cancel := context.WithTimeout(ctx, timeout(v.HTTP.Timeout, requestTimeout))
		defer cancel()
		return r.ask(ctx, v.HTTP.URL)
	case v.Command != nil:
		ctx, cancel := context.WithTimeout(ctx, timeout(v.Command.Timeout, programTimeout))
		defer cancel()
		return r.runProgram(ctx, v.Command.Args, check)
	default:
		return "", fmt.Errorf("verification %q is neither http nor command", check.Check.Name)
	}
}

// timeout is what a verification sets, within reason.
func timeout(set *metav1.Duration, otherwise time.Duration) time.Duration {
	if set == nil || set.Duration <= 0 {
		return otherwise
	}
	return min(set.Duration, longest)
}

// clean makes output fit to be shown: the end of it, line by line, without control characters and credentials of URLs.
func clean(output []byte, cut bool) string {
	var lines []string
	for line := range strings.Lines(string(output)) {
		if line = secret.Line(secret.Redact(line)); line != "" {
			lines = append(lines, line)
		}
	}
	if cut && len(lines) > 0 {
		lines[0] = "..." // what is left of it may be half a credential
	}
	return strings.Join(lines, "\n")
}
