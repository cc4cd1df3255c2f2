package chart

import "github.com/kalypso-io/kalypso/internal/fleet"

// Made is an object with values that a chart makes up: they depend on a random function or the clock.
type Made struct {
	// Object is the object, and Template the file of the chart that makes it.
	Object   fleet.Ref `json:"object"`
	Template string    `json:"template"`
	// Fields are its fields with such values.
	Fields []string `json:"fields"`
	// Use says what the fields are: a password, a certificate, a checksum of other objects, or anything else.
	Use MadeUse `json:"use"`
	// From is the entry of the Delivery's secrets that applies: Existing, ExternalSecrets, CertManager or Job.
	// Empty if none does.
	From string `json:"from,omitempty"`
	// Rotation is how often the Delivery rotated a Secret that a Job makes.
	Rotation int `json:"rotation,omitempty"`
	// Can are the entries that could apply, without Existing. Why says why there are none.
	Can []string `json:"can,omitempty"`
	Why string   `json:"why,omitempty"`
	// Value is the chart's value for the name of an existing Secret; with it, nothing of the object is made up.
	// Keys are the keys that the Secret needs. Set is a value that replaces what is made up, but is not the name of
	// a Secret.
	Value string   `json:"value,omitempty"`
	Keys  []string `json:"keys,omitempty"`
	Set   string   `json:"set,omitempty"`
}

// MadeUse says what values are that a chart makes up.
type MadeUse string

// The uses.
const (
	MadePassword    MadeUse = "password"
	MadeCertificate MadeUse = "certificate"
	MadeChecksum    MadeUse = "checksum"
	MadeOther       MadeUse = "other"
)
