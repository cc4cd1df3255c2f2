package recipe_test

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/kalypso-io/kalypso/internal/chart/recipe"
)

// database has a password with its hash and time, a URL with the password in another Secret, and a certificate with its authority.
func database() *recipe.Recipe {
	text := func(t string) recipe.Part { return recipe.Part{Text: t} }
	draw := func(n int) recipe.Part { return recipe.Part{Draw: n} }
	crt := func(n int, kind string) []recipe.Part {
		return []recipe.Part{text("-----BEGIN " + kind + "-----\n"), draw(n), text("\n-----END " + kind + "-----\n")}
	}
	return &recipe.Recipe{
		Secrets: []recipe.Secret{
			{Name: "db", Keys: []recipe.Key{
				{Name: "password", Parts: []recipe.Part{draw(1)}},
				{Name: "hash", Parts: []recipe.Part{text("admin:"), draw(2)}},
				{Name: "user", Parts: []recipe.Part{text("app")}},
				{Name: "at", Parts: []recipe.Part{draw(3)}},
				{Name: "all", Parts: []recipe.Part{draw(7), text("/"), draw(8), text("/"), draw(9), text("$(x)")}},
			}},
			{Name: "url", Keys: []recipe.Key{{Name: "url", Parts: []recipe.Part{text("db://app:"), draw(1), text("@db")}}}},
			{Name: "tls", Type: "kubernetes.io/tls", Keys: []recipe.Key{
				{Name: "ca.crt", Parts: crt(4, "CERTIFICATE")}, {Name: "tls.key", Parts: crt(6, "RSA PRIVATE KEY")}, {Name: "tls.crt", Parts: crt(5, "CERTIFICATE")},
			}},
		},
		Draws: []recipe.Draw{
			{Function: recipe.RandAlphaNum, Length: 24},
			{Function: recipe.Bcrypt, Of: 1},
			{Function: recipe.Time, Layout: time.RFC3339},
			{Function: recipe.Certificate, Certificate: &recipe.Issue{CommonName: "ca", Days: 10, Authority: true}},
			{Function: recipe.Certificate, Certificate: &recipe.Issue{CommonName: "db", DNSNames: []string{"db.svc"}, IPs: []string{"10.0.0.1"}, Days: 5, By: 4}},
			{Function: recipe.CertificateOf, Of: 5},
			{Function: recipe.UUID},
			{Function: recipe.RandBytes, Length: 10},
			{Function: recipe.RandASCII, Length: 7},
		},
	}
}

// passwords is the database without certificates, which take long, and certificates only these.
func passwords() *recipe.Recipe {
	r := database()
	r.Secrets = r.Secrets[:2]
	return r
}

func certificates() *recipe.Recipe {
	r := database()
	r.Secrets = r.Secrets[2:]
	return r
}

var now = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// cluster holds Secrets, and applies what a recipe writes.
type cluster map[string]recipe.Found

func (c cluster) make(t *testing.T, r *recipe.Recipe) []recipe.Written {
	t.Helper()
	written, err := r.Make(c, rand.Reader, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range written {
		rotation := w.Secret.Rotation
		c[w.Secret.Name] = recipe.Found{Data: w.Data, Made: w.New || c[w.Secret.Name].Made, Rotation: &rotation}
	}
	return written
}

func (c cluster) get(secret, key string) string { return string(c[secret].Data[key]) }

// A cluster without Secrets gets all of them: values of the form that the chart has, and values that belong to each other do.
func TestSecretsAreMade(t *testing.T) {
	r, c := database(), cluster{}
	text, err := r.Encode()
	if err != nil || strings.Contains(text, "$") {
		t.Fatalf("%v, %s", err, text)
	}
	if r, err = recipe.Decode(text); err != nil {
		t.Fatal(err)
	}
	c.make(t, r)
	password := c.get("db", "password")
	if !regexp.MustCompile(`^[A-Za-z0-9]{24}$`).MatchString(password) || c.get("url", "url") != "db://app:"+password+"@db" {
		t.Errorf("got %q and %q", password, c.get("url", "url"))
	}
	if err := bcrypt.CompareHashAndPassword([]byte(strings.TrimPrefix(c.get("db", "hash"), "admin:")), []byte(password)); err != nil {
		t.Error(err)
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/[A-Za-z0-9+/]{14}==/[ -~]{7}\$\(x\)$`).MatchString(c.get("db", "all")) || c.get("db", "at") != "2026-05-04T03:02:01Z" {
		t.Errorf("got %q and %q", c.get("db", "all"), c.get("db", "at"))
	}
	if _, err := tls.X509KeyPair([]byte(c.get("tls", "tls.crt")), []byte(c.get("tls", "tls.key"))); err != nil {
		t.Error(err)
	}
	block, _ := pem.Decode([]byte(c.get("tls", "tls.crt")))
	crt, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(c.get("tls", "ca.crt")))
	if _, err := crt.Verify(x509.VerifyOptions{Roots: roots, DNSName: "db.svc", CurrentTime: now.Add(time.Hour)}); err != nil {
		t.Error(err)
	}
}

// What exists is kept, for ever: only a rotation changes it, and then all that belongs to it.
func TestSecretsAreKept(t *testing.T) {
	r, c := database(), cluster{}
	c.make(t, r)
	before := maps.Clone(c)
	if written := c.make(t, r); len(written) != 0 {
		t.Errorf("the second time, it wrote %v", written)
	}
	r.Secrets[1].Rotation = 1 // its password is that of db
	var made []string
	for _, w := range c.make(t, r) {
		for _, key := range w.Made {
			made = append(made, w.Secret.Name+"/"+key)
		}
	}
	if want := []string{"db/hash", "db/password", "url/url"}; !slices.Equal(made, want) {
		t.Errorf("the rotation wrote %q, want %q", made, want)
	}
	password := c.get("db", "password")
	if password == string(before["db"].Data["password"]) || c.get("url", "url") != "db://app:"+password+"@db" ||
		bcrypt.CompareHashAndPassword([]byte(strings.TrimPrefix(c.get("db", "hash"), "admin:")), []byte(password)) != nil {
		t.Error("the values do not belong to each other")
	}
	if written := c.make(t, r); len(written) != 0 {
		t.Errorf("after the rotation, it wrote %v", written)
	}
	r.Secrets[2].Rotation = 1
	c.make(t, r)
	if _, err := tls.X509KeyPair([]byte(c.get("tls", "tls.crt")), []byte(c.get("tls", "tls.key"))); err != nil || c.get("tls", "ca.crt") == string(before["tls"].Data["ca.crt"]) {
		t.Error("the certificate was not issued again", err)
	}
}

// Texts of the chart follow the chart in Secrets that a recipe made. Nothing of a Secret that was there changes, but keys are added.
func TestTextsFollowTheChart(t *testing.T) {
	r, c := passwords(), cluster{}
	c["url"] = recipe.Found{Data: map[string][]byte{"url": []byte("db://app:abcdefghijklmnopqrstuvwx@db"), "other": []byte("mine")}}
	c.make(t, r)
	if c.get("db", "password") != "abcdefghijklmnopqrstuvwx" || c.get("url", "other") != "mine" {
		t.Errorf("got %q, %v", c.get("db", "password"), c["url"])
	}
	r.Secrets[0].Keys[2].Parts[0].Text = "owner"
	r.Secrets[1].Keys[0].Parts[0].Text = "db://owner:"
	c.make(t, r)
	if c.get("db", "user") != "owner" || c.get("db", "password") != "abcdefghijklmnopqrstuvwx" || c.get("url", "url") != "db://app:abcdefghijklmnopqrstuvwx@db" {
		t.Errorf("got %q, %q", c.get("db", "user"), c.get("url", "url"))
	}
	delete(c["db"].Data, "hash")
	c.make(t, r)
	if bcrypt.CompareHashAndPassword([]byte(strings.TrimPrefix(c.get("db", "hash"), "admin:")), []byte("abcdefghijklmnopqrstuvwx")) != nil {
		t.Error("the hash is not that of the password")
	}
}

// A value is not made beside one that it belongs to and that exists: they would not fit.
func TestValuesAreMadeTogether(t *testing.T) {
	for name, test := range map[string]struct{ secret, key, want string }{
		"password of a hash": {"db", "password", ""}, "key of a certificate": {"tls", "tls.key", "rotate the Secret"},
		"certificate of a key": {"tls", "tls.crt", "rotate the Secret"}, "authority of a certificate": {"tls", "ca.crt", "rotate the Secret"},
	} {
		r := passwords()
		if test.secret == "tls" {
			r = certificates()
		}
		c := cluster{}
		c.make(t, r)
		delete(c[test.secret].Data, test.key)
		_, err := r.Make(c, rand.Reader, now)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r, c := passwords(), cluster{}
	c.make(t, r)
	delete(c["db"].Data, "password")
	c["url"].Data["url"] = []byte("another form")
	if _, err := r.Make(c, rand.Reader, now); err == nil || !strings.Contains(err.Error(), "url/url, in another form") {
		t.Error(err)
	}
	c = cluster{"db": {Data: map[string][]byte{"password": []byte("a")}}, "url": {Data: map[string][]byte{"url": []byte("db://app:abcdefghijklmnopqrstuvwx@db")}}}
	if _, err := r.Make(c, rand.Reader, now); err == nil || !strings.Contains(err.Error(), "different values") {
		t.Error(err)
	}
}

// A recipe that cannot be followed is refused before anything is made.
func TestRecipesAreChecked(t *testing.T) {
	for _, text := range []string{
		`{`, `{"secrets":[{"name":"a","keys":[{"name":"a","parts":[{"draw":1}]}]}]}`, `{"draws":[{"function":"bcrypt","of":1}]}`,
		`{"draws":[{"function":"certificateKey","of":1}]}`, `{"draws":[{"function":"certificate"}]}`, `{"draws":[{"function":"certificate","certificate":{"by":1}}]}`,
	} {
		if _, err := recipe.Decode(text); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
	r, err := recipe.Decode(`{"secrets":[{"name":"a","keys":[{"name":"a","parts":[{"draw":1}]}]}],"draws":[{"function":"new"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Make(nil, rand.Reader, now); err == nil || !strings.Contains(err.Error(), "does not know") {
		t.Error(err)
	}
}
