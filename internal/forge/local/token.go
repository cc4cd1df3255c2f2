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

const (
	insertToken = `INSERT INTO token (account, name, rights, below, hash, created_at) VALUES (?, ?, ?, ?, ?, ?) RETURNING id`
	selectToken = `SELECT id, name, account, rights, below, created_at, revoked_at FROM token`
	revokeToken = `UPDATE token SET revoked_at = ? WHERE id = ? AND revoked_at = 0`
	// Revoking a token ends its sessions.
	endSessionsOfToken = `DELETE FROM session WHERE token = ?`
)

// CreateToken creates a token for an account. The secret is only returned here; the database has its hash.
func (f *Forge) CreateToken(ctx context.Context, name string, a Account) (secret forge.Secret, t Token, err error) {
	defer explain("create token", "", &err)
	if !validName(a.Name) || !a.Right.includes(Read) {
		return forge.Secret{}, Token{}, invalid("an account has a name of letters and digits and the right read, write or admin")
	}
	secret, hash := newSecret(tokenPrefix)
	t = Token{Name: forge.OneLine(name, 100), Account: a, CreatedAt: f.now()}
	t.Account.Below = strings.Trim(a.Below, "/")
	err = f.db.QueryRowContext(ctx, insertToken,
		a.Name, t.Name, a.Right, t.Account.Below, hash, microseconds(t.CreatedAt)).Scan(&t.ID)
	return secret, t, err
}

// Tokens returns all tokens, oldest first, including revoked ones.
func (f *Forge) Tokens(ctx context.Context) (all []Token, err error) {
	defer explain("list tokens", "", &err)
	return queryAll(ctx, f.db, scanToken, selectToken+` ORDER BY id`)
}

// RevokeToken revokes a token, and ends its sessions. Revoking it again has no effect.
func (f *Forge) RevokeToken(ctx context.Context, id int64) (err error) {
	defer explain("revoke token", "", &err)
	return inTransaction(ctx, f.db, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, revokeToken, microseconds(f.now()), id); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, endSessionsOfToken, id)
		return err
	})
}

// Authenticate returns the account of a secret. The error is of kind [forge.ErrDenied] if no token has it.
func (f *Forge) Authenticate(ctx context.Context, secret forge.Secret) (t Token, err error) {
	defer explain("authenticate", "", &err)
	t, err = scanToken(f.db.QueryRowContext(ctx, selectToken+` WHERE hash = ? AND revoked_at = 0`, hashOf(secret)))
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
