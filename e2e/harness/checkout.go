package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Checkout is a user's work tree of one branch, with which they change a repository.
type Checkout struct {
	dir, branch string
}

// NewCheckout starts a branch that is not there yet. Its commits are pushed to the repository, with the rights of an account.
func NewCheckout(ctx context.Context, dir string, r *Repository, branch string, as Account) (*Checkout, error) {
	c := &Checkout{dir, branch}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if _, err := c.git(ctx, "init", "-q", "-b", branch); err != nil {
		return nil, err
	}
	_, err := c.git(ctx, "remote", "add", "origin", r.urlWith(as))
	return c, err
}

// Dir is the folder of the work tree.
func (c *Checkout) Dir() string { return c.dir }

// Write writes a file.
func (c *Checkout) Write(path, text string) error {
	path = filepath.Join(c.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// Replace replaces a text that occurs once in a file.
func (c *Checkout) Replace(path, old, text string) error {
	content, err := os.ReadFile(filepath.Join(c.dir, filepath.FromSlash(path)))
	if err != nil {
		return err
	}
	if n := strings.Count(string(content), old); n != 1 {
		return fmt.Errorf("%s has %q %d times, not once", path, old, n)
	}
	return c.Write(path, strings.Replace(string(content), old, text, 1))
}

// Remove deletes a file.
func (c *Checkout) Remove(path string) error {
	return os.Remove(filepath.Join(c.dir, filepath.FromSlash(path)))
}

// Push commits everything and pushes it, on top of what a server pushed to the branch meanwhile. It returns the commit.
func (c *Checkout) Push(ctx context.Context, message string) (string, error) {
	for _, args := range [][]string{{"add", "--all"}, {"commit", "-q", "--allow-empty", "-m", message}} {
		if _, err := c.git(ctx, args...); err != nil {
			return "", err
		}
	}
	if err := c.push(ctx); err != nil {
		return "", err
	}
	head, err := c.git(ctx, "rev-parse", "HEAD")
	return strings.TrimSpace(head), err
}

func (c *Checkout) push(ctx context.Context) error {
	var err error
	for range 5 {
		if _, err = c.git(ctx, "push", "-q", "origin", c.branch); err == nil {
			return nil
		}
		if _, failed := c.git(ctx, "pull", "-q", "--rebase", "origin", c.branch); failed != nil {
			return errors.Join(err, failed)
		}
	}
	return err
}

// Switch begins another branch where the work tree is.
func (c *Checkout) Switch(ctx context.Context, branch string) error {
	_, err := c.git(ctx, "switch", "-q", "-c", branch)
	c.branch = branch
	return err
}

// git runs git without the configuration of this machine and its user.
func (c *Checkout) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = c.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=A Person", "GIT_AUTHOR_EMAIL=person@localhost", "GIT_COMMITTER_NAME=A Person", "GIT_COMMITTER_EMAIL=person@localhost",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", args[0], err, out)
	}
	return string(out), nil
}
