package git

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"
)

// helperTime is the timeout for a credential helper. Some request a token from a cloud.
const helperTime = 30 * time.Second

// runHelper runs "git credential fill", the only use of the git program in this package.
func (c *Client) runHelper(ctx context.Context, request string) (string, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, helperTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, git, "-c", "credential.interactive=false", "credential", "fill")
	cmd.WaitDelay = time.Second
	cmd.Stdin = strings.NewReader(request)
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GCM_INTERACTIVE=never")
	// The client's settings for git's configuration apply to the program, too.
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"} {
		if value := c.env(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	out, err := cmd.Output()
	return string(out), err
}
