package repository

import (
	"cmp"

	"github.com/kalypso-io/kalypso/internal/git"
)

// Author is whom git would name as the author, else a neutral one.
func Author(env map[string]string) git.Person {
	client := git.Client{Env: func(name string) string { return env[name] }}
	who := client.Author()
	return git.Person{Name: cmp.Or(who.Name, "Kalypso"), Email: cmp.Or(who.Email, "kalypso@localhost")}
}
