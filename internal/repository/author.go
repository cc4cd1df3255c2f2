package repository

import (
	"cmp"

	"github.com/kalypso-io/kalypso/internal/git"
)

// Author returns the author that git would use, or a neutral one.
func Author(env map[string]string) git.Person {
	client := git.Client{Env: func(name string) string { return env[name] }}
	who := client.Author()
	return git.Person{Name: cmp.Or(who.Name, "Kalypso"), Email: cmp.Or(who.Email, "kalypso@localhost")}
}

// Signer loads the key that signs commits. $KALYPSO_SIGNING_PASSPHRASE unlocks it. It returns nil for an empty file name.
func Signer(file string, env map[string]string) (git.Signer, error) {
	if file == "" {
		return nil, nil
	}
	return git.LoadSigner(file, git.NewSecret(env["KALYPSO_SIGNING_PASSPHRASE"]))
}
