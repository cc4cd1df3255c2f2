package wiring

import (
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/serve"
)

// NewPeople returns the users whose reviews count. forges are those of the configuration, in its order, and the embedded forge.
func NewPeople(config *serve.Config, forges forge.Forges) *forge.People {
	people := &forge.People{All: config.People, Names: map[forge.Forge]string{}}
	for i, f := range forges {
		if i < len(config.Forges) {
			people.Names[f] = config.Forges[i].Name
		} else {
			people.Names[f] = serve.LocalForgeName
		}
	}
	return people
}
