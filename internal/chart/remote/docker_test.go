package remote_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart/remote"
)

func auth(credential string) string {
	return `{"auth": "` + base64.StdEncoding.EncodeToString([]byte(credential)) + `"}`
}

func writeDocker(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Each host gets its own credential, and others get none.
func TestDockerFile(t *testing.T) {
	of := remote.DockerFile(writeDocker(t, `{"credsStore": "/bin/false", "auths": {
		"https://index.docker.io/v1/": `+auth("hub:open:sesame")+`,
		"registry.example": `+auth("me:hunter2")+`,
		"https://other.example:5000/v2/": {"username": "you", "password": "hunter3"},
		"parts.example/team": `+auth("team:hunter4")+`,
		"helper.example": {}}}`))
	for host, want := range map[string]string{
		"registry-1.docker.io": "hub open:sesame", "docker.io": "hub open:sesame", "registry.example": "me hunter2", "REGISTRY.example": "me hunter2",
		"other.example:5000": "you hunter3", "other.example": " ", "registry.example:5000": " ", "evil.registry.example": " ",
		"registry.example.evil": " ", "parts.example": " ", "helper.example": " ", "": " ", "parts.example/team": " ",
	} {
		got, err := of(t.Context(), host)
		if text := got.User + " " + got.Password.Reveal(); err != nil || text != want {
			t.Errorf("%s: got %q, %v, want %q", host, text, err, want)
		}
	}
	for name, content := range map[string]string{
		"not JSON": `hunter2`, "a list": `{"auths": ["hunter2"]}`, "no base64": `{"auths": {"registry.example": {"auth": "hunter2!"}}}`,
		"no password": `{"auths": {"registry.example": {"auth": "aHVudGVyMg=="}}}`,
	} {
		_, err := remote.DockerFile(writeDocker(t, content))(t.Context(), "registry.example")
		if err == nil || strings.Contains(err.Error(), "hunter") || strings.Contains(err.Error(), "aHVudGVyMg") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if got, err := remote.DockerFile(filepath.Join(t.TempDir(), "none"))(t.Context(), "registry.example"); err != nil || !got.Password.IsZero() {
		t.Errorf("got %v", err)
	}
}

// Messages of registries are shown without the credentials that they repeat.
func TestRegistriesThatRepeatCredentials(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, ok := r.BasicAuth(); ok {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"errors": [{"code": "DENIED", "message": "not with ` + password + ` in ` + r.Header.Get("Authorization") + `"}]}`))
			return
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="images"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	file := writeDocker(t, `{"auths": {"`+host+`": `+auth("me:open-sesame")+`}}`)
	client := &remote.Client{PlainHTTP: func(string) bool { return true }, Credential: remote.DockerFile(file)}
	_, err := client.Versions(t.Context(), app.Chart{Repository: "oci://" + host + "/team/shop"})
	if err == nil || !strings.Contains(err.Error(), "not with") {
		t.Fatalf("got %v", err)
	}
	for _, of := range []string{"open-sesame", base64.StdEncoding.EncodeToString([]byte("me:open-sesame"))} {
		if strings.Contains(err.Error(), of) {
			t.Errorf("it tells the credential: %v", err)
		}
	}
}
