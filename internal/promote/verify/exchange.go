package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/kalypso-io/kalypso/internal/text/outbound"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// ErrTooLarge is the error for an answer that is larger than its limit.
var ErrTooLarge = outbound.ErrTooLarge

// Exchange runs a program with an input, and returns all of its standard output, up to limit bytes. It runs like the program
// of a verification, but the caller has to know that the operator allows it: [Runner.Programs] does not restrict it. args
// begins with the full path of the program.
func (r *Runner) Exchange(ctx context.Context, args []string, input []byte, limit int) ([]byte, error) {
	if len(args) == 0 || !filepath.IsAbs(args[0]) {
		return nil, fmt.Errorf("%.100q does not begin with the full path of a program", args)
	}
	dir, err := r.folder()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a folder that is left does no harm
	within, end := context.WithCancelCause(ctx)
	defer end(nil)
	name := filepath.Base(args[0])
	cmd := exec.CommandContext(within, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, r.variables(dir)
	inGroup(cmd)
	output, problems := &head{limit: limit, full: func() { end(ErrTooLarge) }}, &tail{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), output, problems
	cmd.WaitDelay = afterwards // a program that left the group may keep the output open
	err = cmd.Run()
	endGroup(cmd)
	var exit *exec.ExitError
	switch {
	case errors.Is(context.Cause(within), ErrTooLarge):
		return nil, fmt.Errorf("%s: %w", name, ErrTooLarge)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("%s did not end in time", name)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &exit):
		return nil, fmt.Errorf("%s ended with %s%s", name, exit.ProcessState, lastLine(problems.String()))
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return nil, fmt.Errorf("run %s: %s", name, secret.Scrub(err.Error()))
	}
	return output.text, nil
}

// head is a writer that keeps up to limit bytes. It calls full if there are more.
type head struct {
	text  []byte
	limit int
	full  func()
}

// Write implements io.Writer.
func (h *head) Write(p []byte) (int, error) {
	if len(h.text)+len(p) > h.limit {
		h.full()
		return 0, ErrTooLarge
	}
	h.text = append(h.text, p...)
	return len(p), nil
}

// Post sends a JSON document to a URL that the operator configured, and returns the answer, up to limit bytes. The token is
// sent as a bearer token unless it is zero. Addresses are restricted as for verifications, but the operator has allowed the
// host of the URL itself by configuring it. Redirects are not followed.
func (r *Runner) Post(ctx context.Context, address string, token secret.Value, body []byte, limit int) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("%q is not a URL without credentials; want http:// or https://", secret.Scrub(address))
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask %q: %s", secret.Scrub(address), secret.Scrub(err.Error()))
	}
	request.Header.Set("User-Agent", "kalypso")
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if !token.IsZero() {
		request.Header.Set("Authorization", "Bearer "+token.Reveal())
	}
	allowed := Runner{Hosts: append(slices.Clone(r.Hosts), u.Hostname())}
	answer, err := allowed.connect(outbound.Never).Do(request)
	if err != nil {
		return nil, reason(ctx, err, token)
	}
	defer answer.Body.Close() //nolint:errcheck // nothing was written
	text, err := io.ReadAll(io.LimitReader(answer.Body, int64(limit)+1))
	switch {
	case err != nil:
		return nil, reason(ctx, err, token)
	case answer.StatusCode >= 300 && answer.StatusCode < 400:
		return nil, fmt.Errorf("%s answers %s; configure the URL that it leads to", u.Redacted(), secret.Line(answer.Status))
	case answer.StatusCode != http.StatusOK:
		said := ""
		if line := secret.Scrub(string(text), token); line != "" {
			said = ": " + line
		}
		return nil, fmt.Errorf("%s answers %s%s", u.Redacted(), secret.Line(answer.Status), said)
	case len(text) > limit:
		return nil, fmt.Errorf("%s: %w", u.Redacted(), ErrTooLarge)
	}
	return text, nil
}
