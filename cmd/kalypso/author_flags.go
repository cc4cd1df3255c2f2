package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	sigs "sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/forge"
)

// authorFlags say who made a change.
type authorFlags struct {
	author string
	groups []string
	people string
}

func (f *authorFlags) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.author, "author", "", "the `user` or login who made the change")
	cmd.Flags().StringArrayVar(&f.groups, "group", nil, "a `group` of the author; may be repeated")
	cmd.Flags().StringVar(&f.people, "people", "", "a `file` with people, as in the configuration of the server: finds the user of a login, and the groups")
	_ = cmd.MarkFlagFilename("people", "yaml") // the error only says that the flag does not exist
}

// read returns the author.
func (f *authorFlags) read(cmd *cobra.Command) (editing.Author, error) {
	if f.author == "" {
		return editing.Author{}, cli.Usage(cmd, "who made the change? name the user, as in --author ada")
	}
	if f.people == "" {
		return editing.Author{Name: f.author, Groups: f.groups}, nil
	}
	if len(f.groups) > 0 {
		return editing.Author{}, cli.Usage(cmd, "--people has the groups: leave out --group")
	}
	content, err := os.ReadFile(f.people)
	if err != nil {
		return editing.Author{}, err
	}
	people, err := readPeople(content)
	if err != nil {
		var mistaken *json.UnmarshalTypeError
		if errors.As(err, &mistaken) { // its text is about types of Go
			field := strings.TrimSuffix("people."+strings.TrimPrefix(mistaken.Field, "."), ".")
			err = fmt.Errorf("%s is not of the right form, but a %s", field, mistaken.Value)
		} else if _, unknown, ok := strings.Cut(err.Error(), "json: unknown field "); ok {
			err = fmt.Errorf("people has no field %s", unknown)
		}
		return editing.Author{}, cli.Failed(fmt.Errorf("read %s: %w", f.people, err), peopleForm)
	}
	if people == nil { // with an empty list, no user may edit values that have editableBy
		return editing.Author{}, cli.Failed(fmt.Errorf("%s lists no people", f.people), peopleForm)
	}
	var found []forge.Person
	for _, p := range people {
		isLogin := func(login string) bool { return forge.SameLogin(login, f.author) }
		if strings.EqualFold(p.User, f.author) || slices.ContainsFunc(slices.Collect(maps.Values(p.Logins)), isLogin) {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		return editing.Author{Login: f.author}, nil
	case 1:
		return editing.Author{Name: found[0].User, Groups: found[0].Groups}, nil
	}
	return editing.Author{}, cli.Failed(fmt.Errorf("%s has several users with the login %q: %s and %s", f.people, f.author, found[0].User, found[1].User), "name the user with --author")
}

// peopleForm says what the file of --people has.
const peopleForm = "write people: [{user: ada@example.com, groups: [team-a], logins: {github: ada}}]"

// readPeople reads the people of a file, which can have other fields: it may be the configuration of a server.
func readPeople(content []byte) ([]forge.Person, error) {
	var file struct {
		People json.RawMessage `json:"people"`
	}
	if err := sigs.Unmarshal(content, &file); err != nil || file.People == nil {
		return nil, err
	}
	var people []forge.Person
	return people, sigs.UnmarshalStrict(file.People, &people)
}
