package local

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Token is a credential without its secret.
type Token struct {
	ID int64
	// Name describes its purpose, for users.
	Name string
	// Account is its owner, with the owner's permissions.
	Account   Account
	CreatedAt time.Time
	// RevokedAt is zero while it is valid.
	RevokedAt time.Time
}

// tokenPrefix identifies tokens, for example to programs that scan for leaked ones.
const tokenPrefix = "kalypso_"

// CreateToken creates a token for an account. The secret is only returned here; the database has its hash.
func (f *Forge) CreateToken(ctx context.Context, name string, a Account) (secret forge.Secret, t Token, err error) {
	secret, _ = newSecret(tokenPrefix)
	t, err = f.AddToken(ctx, name, secret, a)
	if err != nil {
		return forge.Secret{}, t, err
	}
	return secret, t, nil
}

// AddToken makes a secret of at least 128 random bits a token for an account. The database has its hash.
func (f *Forge) AddToken(ctx context.Context, name string, secret forge.Secret, a Account) (t Token, err error) {
	defer explain("create token", "", &err)
	if !validName(a.Name) || !a.Right.includes(Read) {
		return Token{}, invalid("an account has a name of letters and digits and the right read, write or admin")
	}
	t = Token{Name: forge.OneLine(name, 100), Account: a, CreatedAt: f.now()}
	t.Account.Below = strings.Trim(a.Below, "/")
	err = row(ctx, f.db, "insertToken", a.Name, t.Name, a.Right, t.Account.Below, hashOf(secret), microseconds(t.CreatedAt)).Scan(&t.ID)
	return t, err
}

// Tokens returns all tokens, oldest first, including revoked ones.
func (f *Forge) Tokens(ctx context.Context) (all []Token, err error) {
	defer explain("list tokens", "", &err)
	return queryAll(ctx, f.db, scanToken, "selectTokens")
}

// RevokeToken revokes a token, and ends its sessions. Revoking it again has no effect.
func (f *Forge) RevokeToken(ctx context.Context, id int64) (err error) {
	defer explain("revoke token", "", &err)
	return inTransaction(ctx, f.db, func(tx *sql.Tx) error {
		if err := execute(ctx, tx, "revokeToken", microseconds(f.now()), id); err != nil {
			return err
		}
		return execute(ctx, tx, "endSessionsOfToken", id)
	})
}

// Authenticate returns the account of a secret. The error is of kind [forge.ErrDenied] if no token has it.
func (f *Forge) Authenticate(ctx context.Context, secret forge.Secret) (t Token, err error) {
	defer explain("authenticate", "", &err)
	t, err = scanToken(row(ctx, f.db, "selectToken", hashOf(secret)))
	if errors.Is(err, sql.ErrNoRows) {
		err = &forge.Error{
			Kind: forge.ErrDenied, Detail: "the token is unknown or revoked", Right: "a valid token",
			Hint: "create a token and give it as the password",
		}
	}
	return t, err
}

func scanToken(s scanner) (Token, error) {
	var t Token
	var created, revoked int64
	err := s.Scan(&t.ID, &t.Name, &t.Account.Name, &t.Account.Right, &t.Account.Below, &created, &revoked)
	t.CreatedAt, t.RevokedAt = timeOf(created), timeOf(revoked)
	return t, err
}

// newSecret returns 256 random bits as text, and the hash to look it up.
func newSecret(prefix string) (forge.Secret, []byte) {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // never fails
	secret := forge.NewSecret(prefix + base64.RawURLEncoding.EncodeToString(bits[:]))
	return secret, hashOf(secret)
}

func hashOf(secret forge.Secret) []byte {
	sum := sha256.Sum256([]byte(secret.Reveal()))
	return sum[:]
}
