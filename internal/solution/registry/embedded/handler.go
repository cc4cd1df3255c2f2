package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Refusal is an error for clients.
type Refusal struct {
	// Status is that of HTTP, Code one of the specification's.
	Status        int
	Code, Message string
	// RetryAfter is the time after which to try again; zero if that does not help.
	RetryAfter time.Duration
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

func refuse(status int, code, format string, args ...any) error {
	return &Refusal{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Codes of errors that are used in several places.
const (
	denied      = "DENIED"
	unsupported = "UNSUPPORTED"
	unknown     = "MANIFEST_UNKNOWN"
)

// What addresses consist of: https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pulling-manifests
const (
	namePattern   = `([a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*)`
	tagPattern    = `[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}`
	digestPattern = `sha256:[a-f0-9]{64}`
	maxName       = 200
)

var digestForm = regexp.MustCompile(`^` + digestPattern + `$`)

// operation is what an address is for.
type operation string

const (
	opBase      operation = "base"
	opBlob      operation = "blob"
	opUploads   operation = "uploads"
	opUpload    operation = "upload"
	opManifest  operation = "manifest"
	opTags      operation = "tags"
	opReferrers operation = "referrers"
)

// routes are the addresses that are served, with the methods of each.
var routes = []struct {
	operation
	form    *regexp.Regexp
	methods []string
}{
	{opBase, regexp.MustCompile(`^/v2/?()()$`), []string{http.MethodGet, http.MethodHead}},
	{opUploads, regexp.MustCompile(`^/v2/` + namePattern + `/blobs/uploads/?()$`), []string{http.MethodPost}},
	{opUpload, regexp.MustCompile(`^/v2/` + namePattern + `/blobs/uploads/([A-Z2-7]{26})$`), []string{http.MethodGet, http.MethodPatch, http.MethodPut, http.MethodDelete}},
	{opBlob, regexp.MustCompile(`^/v2/` + namePattern + `/blobs/(` + digestPattern + `)$`), []string{http.MethodGet, http.MethodHead}},
	{opManifest, regexp.MustCompile(`^/v2/` + namePattern + `/manifests/(` + tagPattern + `|` + digestPattern + `)$`), []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete}},
	{opTags, regexp.MustCompile(`^/v2/` + namePattern + `/tags/list()$`), []string{http.MethodGet}},
	{opReferrers, regexp.MustCompile(`^/v2/` + namePattern + `/referrers/(` + digestPattern + `)$`), []string{http.MethodGet}},
}

// otherDigest matches an address with a digest that is not one of sha256.
var otherDigest = regexp.MustCompile(`^/v2/` + namePattern + `/(?:blobs|manifests|referrers)/[^/]*:[^/]*$`)

// request is a parsed request.
type request struct {
	operation
	repository, reference string
	// client is who sent it.
	client string
}

// action returns what the request is part of.
func (q request) action(method string) Action {
	switch {
	case q.operation == opManifest && method == http.MethodDelete:
		return Delete
	case q.operation == opUploads || q.operation == opUpload || q.operation == opManifest && method == http.MethodPut:
		return Push
	}
	return Pull
}

func parse(r *http.Request) (request, error) {
	for _, route := range routes {
		m := route.form.FindStringSubmatch(r.URL.Path)
		if m == nil {
			continue
		}
		if len(m[1]) > maxName {
			return request{}, refuse(http.StatusBadRequest, "NAME_INVALID", "the name has more than %d characters", maxName)
		}
		if !slices.Contains(route.methods, r.Method) {
			return request{}, refuse(http.StatusMethodNotAllowed, unsupported, "this registry cannot do that; it deletes only manifests, by digest")
		}
		return request{operation: route.operation, repository: m[1], reference: m[2]}, nil
	}
	if otherDigest.MatchString(r.URL.Path) {
		return request{}, refuse(http.StatusBadRequest, "DIGEST_INVALID", "want a digest of sha256, with 64 digits")
	}
	return request{}, refuse(http.StatusNotFound, "NAME_INVALID", "there is nothing at this address: names, tags and digests are those of the OCI distribution specification, with sha256")
}

// ServeHTTP implements [http.Handler], for everything below /v2/.
func (s *Registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control, end := http.NewResponseController(w), time.Now().Add(requestTime)
	_, _ = control.SetReadDeadline(end), control.SetWriteDeadline(end) // writers without deadlines are those of tests
	w.Header().Set("Docker-Distribution-API-Version", "registry/2.0")
	err := s.serve(w, r)
	if err == nil {
		return
	}
	refusal := new(Refusal)
	if !errors.As(err, &refusal) {
		s.report(r.Method+" "+r.URL.Path, err)
		refusal = &Refusal{Status: http.StatusServiceUnavailable, Code: "UNKNOWN", Message: "the registry cannot do this at the moment", RetryAfter: 10 * time.Second}
	}
	refusal.write(w)
}

// report logs an error that the client does not see.
func (s *Registry) report(what string, err error) {
	s.o.Log.Error("the registry failed", "operation", what, "error", err)
	if s.o.OnError != nil {
		s.o.OnError(err)
	}
}

func (r *Refusal) write(w http.ResponseWriter) {
	h := w.Header()
	if r.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Basic realm="Kalypso"`)
	}
	if r.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(r.RetryAfter.Seconds())+1))
	}
	type problem struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	writeJSON(w, r.Status, "application/json", map[string][]problem{"errors": {{r.Code, r.Message}}})
}

func writeJSON(w http.ResponseWriter, status int, mediaType string, value any) {
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the client may be gone
}

func (s *Registry) serve(w http.ResponseWriter, r *http.Request) error {
	q, err := parse(r)
	if err != nil {
		return err
	}
	ctx, client, err := s.o.Admit(r, q.action(r.Method))
	if err != nil {
		return err
	}
	q.client = client
	r = r.WithContext(ctx)
	switch q.operation {
	case opBase:
		// Many clients only ask here how to authenticate, so those that read without a credential are asked for one, too.
		if r.Header.Get("Authorization") == "" {
			return refuse(http.StatusUnauthorized, "UNAUTHORIZED", "send a token as the password")
		}
		writeJSON(w, http.StatusOK, "application/json", struct{}{})
		return nil
	case opBlob:
		return s.serveFile(w, r, q.repository, q.reference, "application/octet-stream")
	case opUploads:
		return s.startUpload(ctx, w, r, q)
	case opUpload:
		return s.continueUpload(ctx, w, r, q)
	case opTags:
		return s.listTags(ctx, w, r, q)
	case opReferrers:
		return s.listReferrers(ctx, w, r, q)
	case opManifest:
		switch r.Method {
		case http.MethodPut:
			return s.putManifest(ctx, w, r, q)
		case http.MethodDelete:
			return s.deleteManifest(ctx, w, q)
		}
		m, err := s.find(ctx, s.db, q.repository, q.reference)
		if err != nil {
			return err
		}
		return s.serveFile(w, r, q.repository, m.digest, m.mediaType)
	}
	return nil
}
