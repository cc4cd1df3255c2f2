package api

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// FluxSignature authenticates clusters by the signature of Flux's notification controller (generic-hmac), which cannot send
// bearer tokens: X-Signature is made with the key from the cluster's registration, and ?cluster= names the cluster.
type FluxSignature struct {
	Secret   secret.Value    // required
	Clusters ledger.Clusters // required
}

var _ access.Authenticator = FluxSignature{}

// maxSigned limits the body of an unauthenticated event, in bytes.
const maxSigned = 256 << 10

// Authenticate implements [access.Authenticator].
func (f FluxSignature) Authenticate(r *http.Request) (access.Identity, bool, error) {
	signature, cluster := r.Header.Get("X-Signature"), r.URL.Query().Get("cluster")
	if r.Method != http.MethodPost || r.URL.Path != Root+"/reports/flux" || signature == "" {
		return access.Identity{}, false, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxSigned+1))
	if err != nil || len(body) > maxSigned {
		return access.Identity{}, false, errors.Join(ingest.ErrTooLarge, err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if cluster == "" || f.Secret.IsZero() {
		return access.Identity{}, false, unsigned()
	}
	found, err := f.Clusters.Clusters(r.Context(), ledger.ClusterQuery{Name: cluster})
	if err != nil {
		return access.Identity{}, false, err
	}
	if len(found) == 0 || !found[0].Registered || !ingest.FluxSigned(signature, body, ingest.FluxKey(f.Secret, found[0].Registration)) {
		return access.Identity{}, false, unsigned()
	}
	return access.Identity{Name: cluster, Role: access.Cluster, Source: access.ByCluster, Cluster: cluster}, true, nil
}

func unsigned() error {
	return &access.Refusal{
		Kind: access.ErrUnauthenticated, Shown: true, What: "the event is not signed with the key of a registered cluster",
		Next: "check ?cluster= in the provider's address, and the token in its secret",
	}
}
