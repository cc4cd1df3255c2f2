package main

import (
	"cmp"
	"os"
	"path/filepath"
	"time"

	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// author is whom git would name as the author: the environment's, else that of git's configuration,
// else a neutral one.
func author(env map[string]string, when time.Time) object.Signature {
	name, email := env["GIT_AUTHOR_NAME"], env["GIT_AUTHOR_EMAIL"]
	for _, file := range gitConfigFiles(env) {
		user := configuredUser(file)
		name, email = cmp.Or(name, user.Name), cmp.Or(email, user.Email)
	}
	return object.Signature{
		Name:  cmp.Or(name, "Kalypso"),
		Email: cmp.Or(email, "kalypso@localhost"),
		When:  when,
	}
}

// gitConfigFiles returns where git keeps the user's configuration, what counts more first.
func gitConfigFiles(env map[string]string) []string {
	if file, ok := env["GIT_CONFIG_GLOBAL"]; ok {
		return []string{file}
	}
	return []string{
		filepath.Join(env["HOME"], ".gitconfig"),
		filepath.Join(cmp.Or(env["XDG_CONFIG_HOME"], filepath.Join(env["HOME"], ".config")), "git", "config"),
	}
}

type user struct{ Name, Email string }

// configuredUser is empty when the file cannot be read: who commits is no reason to stop.
func configuredUser(file string) user {
	f, err := os.Open(file)
	if err != nil {
		return user{}
	}
	defer f.Close()
	c, err := config.ReadConfig(f)
	if err != nil {
		return user{}
	}
	return user{c.User.Name, c.User.Email}
}
