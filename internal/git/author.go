package git

import (
	"cmp"
	"strings"

	config "github.com/go-git/go-git/v5/plumbing/format/config"
)

// Author returns the author that git would use for a commit: GIT_AUTHOR_NAME and GIT_AUTHOR_EMAIL, else user.name and
// user.email of git's configuration. Parts that are not set are empty.
// Unreadable configuration counts as empty, since a missing author need not stop the caller.
func (c *Client) Author() Person {
	var found Person
	repository, _ := c.configDir()
	for _, file := range configFiles(c.env, repository) {
		_ = visitConfig(file, c.env("HOME"), 0, func(c *config.Config) {
			user := c.Section("user")
			found.Name = cmp.Or(user.Option("name"), found.Name)
			found.Email = cmp.Or(user.Option("email"), found.Email)
		})
	}
	for key, value := range environmentSettings(c.env) {
		switch strings.ToLower(key) {
		case "user.name":
			found.Name = value
		case "user.email":
			found.Email = value
		}
	}
	return Person{Name: cmp.Or(c.env("GIT_AUTHOR_NAME"), found.Name), Email: cmp.Or(c.env("GIT_AUTHOR_EMAIL"), found.Email)}
}
