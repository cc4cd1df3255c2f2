package engine

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/kalypso-io/kalypso/internal/chart/recipe"
)

// clockFunctions are the functions of Helm that depend on the clock.
var clockFunctions = []string{"now", "ago"}

// chance stands for the random functions and the clock. Templates often call them only to have a default, as in
//
//	{{ .Values.password | default (randAlphaNum 10) }}
//
// so a call is not an error. The results are fixed, and all of them differ between the two sides of a chance:
// a chart whose manifests are the same on both sides does not depend on them. See unsettled.
type chance struct {
	// other selects the second side.
	other bool
	// called are the names of the functions that were called.
	called []string
	calls  int
	// drawn are the texts that were drawn.
	drawn []drawn
	// seed changes with the rotations of Secrets, so that checksums of what is made up do.
	seed string
}

// drawn is a text that a function returned, or the part of a certificate that differs.
type drawn struct {
	function, text string
	// signed describes the certificate or key that the text is of; nil for other texts.
	signed *signed
	// of is the text that a hash is of. layout is the form of a time, or the kind of a private key.
	of, layout string
}

// signed is a certificate that a function would make.
type signed struct {
	function, name string
	ips, names     []any
	days           int
	// by is the text of the certificate of its authority; may be empty.
	by string
	// key tells that the text is the private key, and of is the text of the certificate that it belongs to.
	key bool
	of  string
}

// next returns the bytes of a call, as many as a result can need.
func (c *chance) next(name string, n int) ([]byte, error) {
	if n > maxBuilt {
		return nil, tooMuch(name, n)
	}
	c.note(name)
	c.calls++
	var all []byte
	for block := 0; len(all) < n; block++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s%d %d", c.seed, c.calls, block))
		all = append(all, sum[:]...)
	}
	return all[:max(n, 0)], nil
}

func (c *chance) note(name string) {
	if !slices.Contains(c.called, name) {
		c.called = append(c.called, name)
	}
}

// text returns a text of n characters of an alphabet. Each of its characters differs between the sides.
func (c *chance) text(name string, n int, alphabet string) (string, error) {
	drawn, err := c.next(name, n)
	half := len(alphabet) / 2
	for i, b := range drawn {
		at := int(b) % half
		if c.other {
			at += half
		}
		drawn[i] = alphabet[at]
	}
	c.record(name, string(drawn))
	return string(drawn), err
}

func (c *chance) record(name, text string) {
	c.drawn = append(c.drawn, drawn{function: name, text: text})
}

// describe says what the certificate is that was drawn last, and its key.
func (c *chance) describe(made certificate, s signed) {
	of := ""
	for i := len(c.drawn) - 1; i >= 0; i-- { // the certificate was drawn after its key
		d := &c.drawn[i]
		switch {
		case d.text == "" || d.signed != nil:
		case strings.Contains(made.Cert, d.text):
			crt := s
			d.signed, of = &crt, d.text
		case strings.Contains(made.Key, d.text):
			key := s
			key.key, key.of = true, of
			d.signed = &key
		}
	}
}

// signing draws a certificate with a key.
func (c *chance) signing(s signed) (certificate, error) {
	made, err := c.certificate(s.function, "")
	c.describe(made, s)
	return made, err
}

// authority returns the text of a certificate that was drawn for an authority.
func authority(ca any) string {
	made, _ := ca.(certificate)
	return made.Cert
}

const (
	digits  = "0123456789"
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	base64s = letters + digits + "+/"
)

// ascii are the printable characters.
var ascii = func() string {
	var b strings.Builder
	for c := byte(' '); c <= '~'; c++ {
		b.WriteByte(c)
	}
	return b.String()
}()

// certificate is what the functions for certificates return.
type certificate struct{ Cert, Key string }

func (c *chance) pem(name, kind string) (string, error) {
	text, err := c.text(name, 64, base64s)
	return "-----BEGIN " + kind + "-----\n" + text + "\n-----END " + kind + "-----\n", err
}

// certificate returns a certificate that no program accepts. An empty key is drawn, too.
func (c *chance) certificate(name, key string) (made certificate, err error) {
	if made.Key = key; key == "" {
		if made.Key, err = c.pem(name, "RSA PRIVATE KEY"); err != nil {
			return made, err
		}
	}
	made.Cert, err = c.pem(name, "CERTIFICATE")
	return made, err
}

// now returns a time. The two sides differ in every field, and no date of a chart is later or earlier than both.
func (c *chance) now() time.Time {
	c.note("now")
	now := time.Date(1234, time.February, 3, 4, 5, 6, 0, time.UTC)
	if c.other {
		now = time.Date(9876, time.November, 29, 21, 57, 48, 0, time.UTC)
	}
	if !slices.ContainsFunc(c.drawn, func(d drawn) bool { return d.function == string(recipe.Time) }) {
		for _, layout := range layouts {
			c.drawn = append(c.drawn, drawn{function: string(recipe.Time), text: now.Format(layout), layout: layout})
		}
	}
	return now
}

// layouts are the forms of the clock's time that are found again in the output.
var layouts = []string{
	time.RFC3339, "2006-01-02T15:04:05.000Z", time.DateTime, time.DateOnly, "20060102150405", "20060102-150405", "20060102",
}

// functions returns the functions, with the parameters of sprig's.
func (c *chance) functions() template.FuncMap {
	functions := template.FuncMap{
		"now": c.now,
		"ago": func(date any) (string, error) {
			c.note("ago")
			t, err := moment(date)
			if c.other {
				t = t.Add(time.Hour + time.Minute + time.Second)
			}
			return t.Sub(time.Unix(0, 0)).String(), err
		},
		"randInt": func(low, high int) (int, error) {
			if c.note("randInt"); high <= low {
				return 0, fmt.Errorf("randInt takes a range, got %d to %d", low, high)
			}
			if c.other {
				return high - 1, nil
			}
			return low, nil
		},
		"shuffle": func(text string) string {
			c.note("shuffle")
			runes := []rune(text)
			if slices.Sort(runes); c.other {
				slices.Reverse(runes)
			}
			return string(runes)
		},
		"uuidv4": func() (string, error) {
			text, err := c.text("uuidv4", 32, "0123456789abcdef")
			if err != nil {
				return "", err
			}
			id := text[:8] + "-" + text[8:12] + "-4" + text[13:16] + "-8" + text[17:20] + "-" + text[20:]
			c.record("uuidv4", id)
			return id, nil
		},
		"randBytes": func(n int) (string, error) {
			text, err := c.text("randBytes", n, ascii)
			encoded := base64.StdEncoding.EncodeToString([]byte(text))
			c.record("randBytes", encoded)
			return encoded, err
		},
		"bcrypt": func(text string) (string, error) { return c.hash("bcrypt", text) },
		"htpasswd": func(name, password string) (string, error) {
			h, err := c.hash("htpasswd", password)
			return name + ":" + h, err
		},
		"encryptAES": func(_, text string) (string, error) {
			h, err := c.hash("encryptAES", text)
			return base64.StdEncoding.EncodeToString([]byte(h)), err
		},
		"genPrivateKey": func(kind string) (string, error) {
			made, err := c.pem("genPrivateKey", strings.ToUpper(kind)+" PRIVATE KEY")
			c.drawn[len(c.drawn)-1].layout = kind
			return made, err
		},
		"genCA": func(name string, days int) (certificate, error) {
			return c.signing(signed{function: "genCA", name: name, days: days})
		},
		"genCAWithKey": func(_ string, _ int, key string) (certificate, error) {
			return c.certificate("genCAWithKey", key)
		},
		"genSelfSignedCert": func(name string, ips, names []any, days int) (certificate, error) {
			return c.signing(signed{function: "genSelfSignedCert", name: name, ips: ips, names: names, days: days})
		},
		"genSelfSignedCertWithKey": func(_ string, _, _ []any, _ int, key string) (certificate, error) {
			return c.certificate("genSelfSignedCertWithKey", key)
		},
		"genSignedCert": func(name string, ips, names []any, days int, ca any) (certificate, error) {
			return c.signing(signed{function: "genSignedCert", name: name, ips: ips, names: names, days: days, by: authority(ca)})
		},
		"genSignedCertWithKey": func(_ string, _, _ []any, _ int, _ any, key string) (certificate, error) {
			return c.certificate("genSignedCertWithKey", key)
		},
	}
	for name, alphabet := range map[string]string{"randAlphaNum": letters + digits, "randAlpha": letters, "randAscii": ascii, "randNumeric": digits} {
		functions[name] = func(n int) (string, error) { return c.text(name, n, alphabet) }
	}
	return functions
}

// hash returns a text in the form of a salted hash.
func (c *chance) hash(name, text string) (string, error) {
	salt, err := c.text(name, 22, base64s)
	sum := sha256.Sum256([]byte(salt + text))
	hash := "$2a$10$" + salt + hex.EncodeToString(sum[:])[:31]
	if name != "encryptAES" {
		c.drawn = append(c.drawn, drawn{function: string(recipe.Bcrypt), text: hash, of: text})
	}
	return hash, err
}
