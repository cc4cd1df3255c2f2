package recipe

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// maxLength is the largest number of characters of a draw.
const maxLength = 1 << 20

// alphabets are the characters of random texts.
var alphabets = map[Function]string{
	RandAlphaNum: letters + digits, RandAlpha: letters, RandNumeric: digits, RandASCII: ascii(),
}

const (
	digits  = "0123456789"
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// ascii returns the printable characters.
func ascii() string {
	var b strings.Builder
	for c := byte(' '); c <= '~'; c++ {
		b.WriteByte(c)
	}
	return b.String()
}

// draw makes a value.
func (m *maker) draw(n int) (string, error) {
	d := m.Draws[n-1]
	if d.Length < 0 || d.Length > maxLength {
		return "", fmt.Errorf("draw %d has a length of %d", n, d.Length)
	}
	switch d.Function {
	case RandAlphaNum, RandAlpha, RandNumeric, RandASCII:
		return m.text(d.Length, alphabets[d.Function])
	case RandBytes:
		b := make([]byte, d.Length)
		_, err := io.ReadFull(m.random, b)
		return base64.StdEncoding.EncodeToString(b), err
	case UUID:
		return m.uuid()
	case Time:
		return m.now.UTC().Format(d.Layout), nil
	case Bcrypt:
		plain, err := m.value(d.Of)
		if err != nil {
			return "", err
		}
		hash, err := bcrypt.GenerateFromPassword([]byte(plain), bcrypt.DefaultCost)
		return string(hash), err
	case PrivateKey:
		return m.privateKey(d.Kind)
	case Certificate, CertificateOf:
		return m.certificate(n, d)
	default:
		return "", fmt.Errorf("the recipe has the function %q, which this version does not know: use an image of the version that wrote it", d.Function)
	}
}

// text returns n characters of an alphabet, each equally likely.
func (m *maker) text(n int, alphabet string) (string, error) {
	most := 256 - 256%len(alphabet)
	var b strings.Builder
	block := make([]byte, 64)
	for b.Len() < n {
		if _, err := io.ReadFull(m.random, block); err != nil {
			return "", err
		}
		for _, x := range block {
			if int(x) < most && b.Len() < n {
				b.WriteByte(alphabet[int(x)%len(alphabet)])
			}
		}
	}
	return b.String(), nil
}

func (m *maker) uuid() (string, error) {
	b := make([]byte, 16)
	if _, err := io.ReadFull(m.random, b); err != nil {
		return "", err
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], nil
}

// privateKey returns the text of a private key, between its first and last line.
func (m *maker) privateKey(kind string) (string, error) {
	switch kind {
	case "rsa":
		key, err := rsa.GenerateKey(m.random, 4096)
		if err != nil {
			return "", err
		}
		return body(x509.MarshalPKCS1PrivateKey(key)), nil
	case "ecdsa":
		key, err := ecdsa.GenerateKey(elliptic.P256(), m.random)
		if err != nil {
			return "", err
		}
		der, err := x509.MarshalECPrivateKey(key)
		return body(der), err
	case "ed25519":
		_, key, err := ed25519.GenerateKey(m.random)
		if err != nil {
			return "", err
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		return body(der), err
	default:
		return "", fmt.Errorf("the recipe has a private key of kind %q, which this version does not know", kind)
	}
}

// issued is a certificate that was made.
type issued struct {
	certificate *x509.Certificate
	key         *rsa.PrivateKey
}

// certificate makes a certificate with its key, and returns one of the two texts.
func (m *maker) certificate(n int, d Draw) (string, error) {
	at := n
	if d.Function == CertificateOf {
		at = d.Of
	}
	pair := m.pairs[at]
	if pair == nil {
		if _, known := m.values[at]; known {
			return "", errTogether
		}
		var err error
		if pair, err = m.issue(*m.Draws[at-1].Certificate); err != nil {
			return "", err
		}
		m.pairs[at] = pair
	}
	if d.Function == CertificateOf {
		return body(x509.MarshalPKCS1PrivateKey(pair.key)), nil
	}
	return body(pair.certificate.Raw), nil
}

// issue makes a certificate, and the authority that signs it.
func (m *maker) issue(i Issue) (*issued, error) {
	var by *issued
	if i.By != 0 {
		if _, err := m.value(i.By); err != nil {
			return nil, err
		}
		if by = m.pairs[i.By]; by == nil {
			return nil, errTogether // the key of an authority that exists is not kept
		}
	}
	key, err := rsa.GenerateKey(m.random, 2048)
	if err != nil {
		return nil, err
	}
	serial := make([]byte, 16)
	if _, err := io.ReadFull(m.random, serial); err != nil {
		return nil, err
	}
	serial[0] &= 0x7f
	template := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial), Subject: pkix.Name{CommonName: i.CommonName}, DNSNames: i.DNSNames,
		NotBefore: m.now.UTC(), NotAfter: m.now.UTC().Add(time.Duration(i.Days) * 24 * time.Hour), BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if i.Authority {
		template.IsCA, template.KeyUsage = true, template.KeyUsage|x509.KeyUsageCertSign
	}
	for _, text := range i.IPs {
		ip, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not an IP address", text)
		}
		template.IPAddresses = append(template.IPAddresses, ip.AsSlice())
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.certificate, by.key
	}
	der, err := x509.CreateCertificate(m.random, template, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &issued{certificate, key}, err
}

// body returns the lines between the first and the last one of a PEM block.
func body(der []byte) string {
	lines := strings.Split(strings.TrimSpace(string(pem.EncodeToMemory(&pem.Block{Type: "X", Bytes: der}))), "\n")
	return strings.Join(lines[1:len(lines)-1], "\n")
}
