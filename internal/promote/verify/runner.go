package verify

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/promote/measure"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Runner runs verifications. The zero value requests public URLs, and runs no programs. It is safe for concurrent use.
type Runner struct {
	// Programs lists the full paths of programs that may be run.
	Programs []string
	// Any allows scans to run every program in PATH, for use on the command line or in CI.
	Any bool
	// Hosts lists names and addresses that may be requested although they are private. Addresses of cloud metadata services must
	// be listed themselves; a name that resolves to one is not enough.
	Hosts []string
	// Credentials are sent with the requests of verifications to their hosts.
	Credentials []Credential
	// Path is the PATH of programs; defaults to /usr/local/bin:/usr/bin:/bin.
	Path string
	// Temp is the folder for the programs' folders; defaults to that of the system.
	Temp string
}

// The limits of a verification. A verification can set its own timeout.
const (
	requestTimeout = 30 * time.Second
	programTimeout = 10 * time.Minute
	// longest is the maximum timeout.
	longest = time.Hour
	// maxOutput is how many bytes at the end of the output are kept.
	maxOutput = 4 << 10
	// maxAnswer is how many bytes of an answer an expression can see.
	maxAnswer = 256 << 10
)

// Run measures a verification once. A nil error means that it passed. The error explains the failure, and how to fix a configuration.
// Neither the evidence nor the error has a credential in it, also if a server or program repeats it.
func (r *Runner) Run(ctx context.Context, check decide.RunCheck) (measure.Evidence, error) {
	return r.hidden(r.measure(ctx, check))
}

func (r *Runner) measure(ctx context.Context, check decide.RunCheck) (measure.Evidence, error) {
	v := check.Check.Verification
	switch {
	case v.HTTP != nil:
		ctx, cancel := context.WithTimeout(ctx, timeout(v.HTTP.Timeout, requestTimeout))
		defer cancel()
		return r.ask(ctx, v.HTTP.URL, check.Check.Expression)
	case v.Command != nil:
		ctx, cancel := context.WithTimeout(ctx, timeout(v.Command.Timeout, programTimeout))
		defer cancel()
		output, err := r.runProgram(ctx, v.Command.Args, check)
		return measure.Evidence{Output: output}, err
	case v.Prometheus != nil:
		ctx, cancel := context.WithTimeout(ctx, timeout(v.Prometheus.Timeout, requestTimeout))
		defer cancel()
		return r.query(ctx, check)
	default:
		return measure.Evidence{}, fmt.Errorf("verification %q is not measured by requests and programs", check.Check.Name)
	}
}

// timeout returns the configured timeout, up to the maximum.
func timeout(set *metav1.Duration, otherwise time.Duration) time.Duration {
	if set == nil || set.Duration <= 0 {
		return otherwise
	}
	return min(set.Duration, longest)
}

// clean returns the end of the output without control characters and credentials in URLs.
func clean(output []byte, cut bool) string {
	var lines []string
	for line := range strings.Lines(string(output)) {
		if line = secret.Line(secret.Redact(line)); line != "" {
			lines = append(lines, line)
		}
	}
	if cut && len(lines) > 0 {
		lines[0] = "..." // the rest of the line may be part of a credential
	}
	return strings.Join(lines, "\n")
}
