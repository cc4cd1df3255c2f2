package wiring

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/solution/registry/embedded"
)

// RegistryFolder is the folder of the embedded registry below the data folder.
const RegistryFolder = "registry"

// openRegistry opens the embedded registry if the configuration wants it.
func (s *Server) openRegistry(ctx context.Context) error {
	if s.Config.Registry == nil {
		return nil
	}
	size, err := s.Config.Registry.Bytes()
	if err != nil {
		return err
	}
	trail := access.Trail{Store: s.Ledger}
	s.registry, err = embedded.Open(ctx, embedded.Options{
		Dir: filepath.Join(s.Config.Data, RegistryFolder), Size: size, Admit: registryAdmission(s.API.Guard), Log: s.Log, OnError: s.disk.note,
		Free: func() (uint64, bool) { return freeBytes(s.Config.Data) },
		Record: func(ctx context.Context, action embedded.Action, subject, digest string) error {
			return trail.Record(ctx, access.From(ctx), string(action)+" artifact", subject, digest)
		},
		Needed: func(d *solution.Descriptor) string {
			if s.Flows.applications == nil || !s.Flows.applications.Read(s.Flows.board, s.Config.ControlPlanes, d.Application) {
				return pinsUnknown
			}
			return neededByPins(s.Flows.board.ControlPlanes(), d)
		},
	})
	if err != nil {
		return err
	}
	s.onClose(func() { _ = s.registry.Close() }) // everything that was accepted is stored
	s.metrics.ObserveRegistry(s.registry.Used, size)
	// Browsers send what a user once entered as a password also in requests of other sites.
	handler := &access.Shield{Next: http.NewCrossOriginProtection().Handler(s.registry), Log: s.Log}
	s.Handle("/v2/", handler)
	s.Handle("/v2", handler)
	return nil
}

// pinsUnknown is why a version is not deleted while its application was not read.
const pinsUnknown = "it is not known yet which targets are pinned to it; try again when the server has read its repositories"

// neededByPins names a target that is pinned to what a solution version has; empty if there is none. What is not known yet may need it.
func neededByPins(all []query.ControlPlane, d *solution.Descriptor) string {
	for _, cp := range all {
		if cp.Promotion == nil {
			return pinsUnknown
		}
		for _, a := range cp.Applications {
			if a.Name != d.Application {
				continue
			}
			if len(a.Environments) == 0 { // no round of it succeeded
				return pinsUnknown
			}
			for i := range a.Environments {
				e := &a.Environments[i]
				if e.Environment != d.Environment {
					continue
				}
				if e.Detail == nil || e.GitOps == nil {
					return pinsUnknown
				}
				for _, t := range e.Detail.Pinned {
					if t.Revision != "" && t.Revision == d.Inputs.GitOps.Commit {
						return fmt.Sprintf("the target %s is pinned to it in %s; deploy it again first", t.Name, e.Environment)
					}
				}
			}
		}
	}
	return ""
}

// registryAdmission lets readers and clusters pull, operators push, and admins delete. Roles in workspaces are not enough: the repositories of workspaces of
// several control planes can have the same names. A token is the password, as for Git, or a bearer token. Sessions of browsers do not count.
func registryAdmission(guard *access.Guard) func(*http.Request, embedded.Action) (context.Context, string, error) {
	return func(r *http.Request, action embedded.Action) (context.Context, string, error) {
		bare := r.Clone(r.Context())
		bare.Header.Del("Cookie")
		if _, password, ok := r.BasicAuth(); ok && len(r.Header.Values("Authorization")) == 1 {
			bare.Header.Set("Authorization", "Bearer "+password)
		}
		who, err := guard.Identify(bare)
		switch {
		case err != nil:
		case action == embedded.Delete:
			err = who.May(access.Admin)
		case action == embedded.Push:
			err = who.May(access.Operator)
		case who.Role != access.Cluster:
			err = who.May(access.Reader)
		}
		return access.With(r.Context(), who), who.String(), registryRefusal(err)
	}
}

// registryRefusal translates a refusal of the guard.
func registryRefusal(err error) error {
	refusal := new(access.Refusal)
	if !errors.As(err, &refusal) {
		return err
	}
	out := &embedded.Refusal{Status: http.StatusServiceUnavailable, Code: "UNKNOWN", Message: refusal.Error(), RetryAfter: refusal.RetryAfter}
	switch {
	case errors.Is(err, access.ErrUnauthenticated):
		out.Status, out.Code = http.StatusUnauthorized, "UNAUTHORIZED"
	case errors.Is(err, access.ErrForbidden):
		out.Status, out.Code = http.StatusForbidden, "DENIED"
	case errors.Is(err, access.ErrTooMany):
		out.Status, out.Code = http.StatusTooManyRequests, "TOOMANYREQUESTS"
	}
	return out
}
