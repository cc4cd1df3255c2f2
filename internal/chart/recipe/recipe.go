package recipe

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Recipe says how to make the Secrets of a target.
type Recipe struct {
	Secrets []Secret `json:"secrets"`
	// Draws are the values that are made up, in the order of their numbers in [Part], from 1.
	Draws []Draw `json:"draws"`
}

// Secret is a Secret to make.
type Secret struct {
	Name string `json:"name"`
	// Type is the type of the Secret. Default: Opaque.
	Type        string            `json:"type,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// Rotation changes when all that is made up in the Secret is made again.
	Rotation int   `json:"rotation,omitempty"`
	Keys     []Key `json:"keys"`
}

// Key is a key of a Secret. Its value consists of its parts.
type Key struct {
	Name  string `json:"name"`
	Parts []Part `json:"parts,omitempty"`
}

// Part is a text of the chart, or the number of a draw.
type Part struct {
	Text string `json:"text,omitempty"`
	Draw int    `json:"draw,omitempty"`
}

// Function is what makes a value. Those of templates have their names.
type Function string

// The functions. Certificate and Key are the two texts of a certificate, between the lines that begin and end them.
const (
	RandAlphaNum  Function = "randAlphaNum"
	RandAlpha     Function = "randAlpha"
	RandNumeric   Function = "randNumeric"
	RandASCII     Function = "randAscii"
	RandBytes     Function = "randBytes"
	UUID          Function = "uuidv4"
	Bcrypt        Function = "bcrypt"
	Time          Function = "time"
	PrivateKey    Function = "genPrivateKey"
	Certificate   Function = "certificate"
	CertificateOf Function = "certificateKey"
)

// Draw is a value that is made up.
type Draw struct {
	Function Function `json:"function"`
	// Length is the number of characters, or of bytes for randBytes, which are encoded in base64.
	Length int `json:"length,omitempty"`
	// Layout is the form of a time, as in Go.
	Layout string `json:"layout,omitempty"`
	// Of is the draw that a hash is of, or the certificate that a private key belongs to.
	Of int `json:"of,omitempty"`
	// Kind is the kind of a private key: rsa, ecdsa or ed25519.
	Kind string `json:"kind,omitempty"`
	// Certificate describes a certificate.
	Certificate *Issue `json:"certificate,omitempty"`
}

// Issue describes a certificate.
type Issue struct {
	CommonName string   `json:"commonName,omitempty"`
	DNSNames   []string `json:"dnsNames,omitempty"`
	IPs        []string `json:"ips,omitempty"`
	Days       int      `json:"days,omitempty"`
	// Authority tells that it signs others, By the number of the one that signs it; 0 signs itself.
	Authority bool `json:"authority,omitempty"`
	By        int  `json:"by,omitempty"`
}

// Encode returns the recipe as the text of a program's argument: JSON without "$", which Kubernetes expands in arguments.
func (r *Recipe) Encode() (string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("write the recipe: %w", err)
	}
	return strings.ReplaceAll(string(text), "$", `\u0024`), nil
}

// Digest identifies a recipe with what else makes its Job.
func (r *Recipe) Digest(more ...string) string {
	text, _ := json.Marshal(r) // of texts and numbers
	sum := sha256.Sum256([]byte(strings.Join(append(more, string(text)), "\x00")))
	return hex.EncodeToString(sum[:])[:10]
}

// Decode reads a recipe, and checks it.
func Decode(text string) (*Recipe, error) {
	var r Recipe
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("read the recipe: %w", err)
	}
	return &r, r.check()
}

// check checks the numbers of draws. A draw refers to earlier ones only, or a private key to the certificate after it.
func (r *Recipe) check() error {
	is := func(n int, functions ...Function) bool {
		return n >= 1 && n <= len(r.Draws) && (len(functions) == 0 || slices.Contains(functions, r.Draws[n-1].Function))
	}
	for _, s := range r.Secrets {
		for _, k := range s.Keys {
			for _, p := range k.Parts {
				if p.Draw != 0 && !is(p.Draw) {
					return fmt.Errorf("the recipe of %s, key %s, names draw %d of %d", s.Name, k.Name, p.Draw, len(r.Draws))
				}
			}
		}
	}
	for i, d := range r.Draws {
		n := i + 1
		switch {
		case d.Function == Bcrypt && (!is(d.Of) || d.Of >= n):
			return fmt.Errorf("draw %d of the recipe hashes draw %d, which does not come before it", n, d.Of)
		case d.Function == CertificateOf && !is(d.Of, Certificate):
			return fmt.Errorf("draw %d of the recipe is the key of draw %d, which is not a certificate", n, d.Of)
		case d.Function == Certificate && d.Certificate == nil:
			return fmt.Errorf("draw %d of the recipe does not describe its certificate", n)
		case d.Function == Certificate && d.Certificate.By != 0 && (!is(d.Certificate.By, Certificate) || d.Certificate.By >= n):
			return fmt.Errorf("draw %d of the recipe is signed by draw %d, which is not a certificate before it", n, d.Certificate.By)
		}
	}
	return nil
}
