package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// tokenPrefix makes tokens recognizable, also for secret scanners.
const tokenPrefix = "kal_"

const (
	randomBytes   = 32
	checksumBytes = 4
	// maxToken limits tokens, in bytes: JWTs with many groups have some kilobytes.
	maxToken = 16 << 10
)

// alphabet has no similar characters, and none that break double-click selection or URLs.
var alphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewToken returns a new token with 256 random bits. It is valid once it is stored in the ledger.
func NewToken(role Role) secret.Value {
	var bits [randomBytes]byte
	_, _ = rand.Read(bits[:]) // never fails
	return tokenOf(role, bits)
}

func tokenOf(role Role, bits [randomBytes]byte) secret.Value {
	head := tokenPrefix + role.letter() + "_"
	return secret.New(head + alphabet.EncodeToString(binary.BigEndian.AppendUint32(bits[:], checksum(head, bits[:]))))
}

// checksum covers the role, too.
func checksum(head string, bits []byte) uint32 {
	return crc32.ChecksumIEEE(append([]byte(head), bits...))
}

// wellFormed reports whether a text can be a token: one of another format, or one with a valid checksum.
func wellFormed(text string) bool {
	if text == "" || len(text) > maxToken {
		return false
	}
	rest, ours := strings.CutPrefix(text, tokenPrefix)
	if !ours {
		return true
	}
	if len(rest) < 2 || rest[1] != '_' {
		return false
	}
	body, err := alphabet.DecodeString(rest[2:])
	if err != nil || len(body) != randomBytes+checksumBytes {
		return false
	}
	head := text[:len(tokenPrefix)+2]
	return checksum(head, body[:randomBytes]) == binary.BigEndian.Uint32(body[randomBytes:])
}

// Hash returns the hash that is stored for a token. Tokens are random, so a plain hash is safe.
func Hash(token secret.Value) string {
	sum := sha256.Sum256([]byte(token.Reveal()))
	return hex.EncodeToString(sum[:])
}
