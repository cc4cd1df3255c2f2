package git

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	config "github.com/go-git/go-git/v5/plumbing/format/config"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// rewrite is one url.<To>.insteadOf rule of git's configuration: URLs that start with From start with To instead.
type rewrite struct{ from, to string }

// rewrites reads the insteadOf rules like git: the system's, the user's, those of a local repository (optional)
// and those of the environment.
func rewrites(env func(string) string, repository string) ([]rewrite, error) {
	var rules []rewrite
	for _, file := range configFiles(env, repository) {
		err := visitConfig(file, env("HOME"), 0, func(c *config.Config) {
			if !c.HasSection("url") {
				return
			}
			for _, s := range c.Section("url").Subsections {
				for _, from := range s.OptionAll("insteadOf") {
					rules = append(rules, rewrite{from: from, to: s.Name})
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	for key, value := range environmentSettings(env) {
		lower := strings.ToLower(key)
		if strings.HasPrefix(lower, "url.") && strings.HasSuffix(lower, ".insteadof") {
			rules = append(rules, rewrite{from: value, to: key[len("url.") : len(key)-len(".insteadof")]})
		}
	}
	return rules, nil
}

// configFiles returns git's configuration files, in increasing precedence.
func configFiles(env func(string) string, repository string) []string {
	var files []string
	if !isTrue(env("GIT_CONFIG_NOSYSTEM")) {
		files = append(files, cmp.Or(env("GIT_CONFIG_SYSTEM"), "/etc/gitconfig"))
	}
	home := env("HOME")
	switch global := env("GIT_CONFIG_GLOBAL"); {
	case global != "":
		files = append(files, global)
	case home != "":
		files = append(files, filepath.Join(cmp.Or(env("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "git", "config"), filepath.Join(home, ".gitconfig"))
	}
	if repository != "" {
		files = append(files, filepath.Join(repository, "config"))
	}
	return files
}

// visitConfig visits the files that a file includes, then the file itself.
func visitConfig(file, home string, depth int, visit func(*config.Config)) error {
	c, err := readConfigFile(file)
	if err != nil || depth > 10 {
		return err
	}
	if c.HasSection("include") {
		for _, path := range c.Section("include").OptionAll("path") {
			if err := visitConfig(expandPath(path, file, home), home, depth+1, visit); err != nil {
				return err
			}
		}
	}
	visit(c)
	return nil
}

func expandPath(path, file, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// environmentSettings yields the GIT_CONFIG_COUNT pairs of GIT_CONFIG_KEY_<n> and GIT_CONFIG_VALUE_<n>.
func environmentSettings(env func(string) string) iter.Seq2[string, string] {
	count, _ := strconv.Atoi(env("GIT_CONFIG_COUNT"))
	return func(yield func(string, string) bool) {
		for i := range min(count, 1000) {
			if !yield(env(fmt.Sprintf("GIT_CONFIG_KEY_%d", i)), env(fmt.Sprintf("GIT_CONFIG_VALUE_%d", i))) {
				return
			}
		}
	}
}

// applyRewrites applies the rule with the longest match, like git. Of equal ones, the last applies.
func applyRewrites(rules []rewrite, url string) string {
	var best rewrite
	for _, r := range rules {
		if r.from != "" && strings.HasPrefix(url, r.from) && len(r.from) >= len(best.from) {
			best = r
		}
	}
	return best.to + strings.TrimPrefix(url, best.from)
}

// readConfigFile reads a file in git's configuration format. A file that does not exist is empty.
func readConfigFile(path string) (*config.Config, error) {
	c := config.New()
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	if err := config.NewDecoder(bytes.NewReader(text)).Decode(c); err != nil {
		return nil, &Error{
			Kind: ErrInvalid, Op: "read git configuration", Where: path, Detail: secret.Scrub(err.Error()),
			Hint: `check it with "git config --list --show-origin"`,
		}
	}
	return c, nil
}

// remoteURLs returns the URLs of a repository's remotes, sorted.
func remoteURLs(dir string) ([]string, error) {
	c, err := readConfigFile(filepath.Join(dir, "config"))
	if err != nil || !c.HasSection("remote") {
		return nil, err
	}
	var urls []string
	for _, s := range c.Section("remote").Subsections {
		urls = append(urls, s.OptionAll("url")...)
	}
	sort.Strings(urls)
	return urls, nil
}

func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "1", "true", "yes", "on":
		return true
	}
	return false
}
