package remote

import (
	"os"
	"testing"
)

func TestEnvironmentCredential(t *testing.T) {
	home := t.TempDir()
	t.Chdir(home)
	if err := os.Mkdir(".docker", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(".docker/config.json", []byte(`{"auths": {"a.example": {"auth": "bWU6ZG9ja2Vy"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{EnvHost: "a.example", EnvUser: "me", EnvPassword: "variable"}
	for _, tc := range []struct {
		name, host, want string
		env              map[string]string
	}{
		{"docker's file", "a.example", "docker", map[string]string{"HOME": home}},
		{"of another folder", "a.example", "", map[string]string{"HOME": home, EnvDockerConfig: t.TempDir()}},
		{"another host", "b.example", "", map[string]string{"HOME": home}},
		{"no home folder", "a.example", "", nil},
		{"variables", "a.example", "variable", variables},
		{"variables for another host", "b.example", "", variables},
	} {
		got, err := EnvironmentCredential(func(name string) string { return tc.env[name] })(t.Context(), tc.host)
		if err != nil || got.Password.Reveal() != tc.want {
			t.Errorf("%s: got %q, %v, want %q", tc.name, got.Password.Reveal(), err, tc.want)
		}
	}
}

// Registries on this machine are used without encryption, and no others.
func TestRegistriesOnThisMachine(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "localhost:5000": true, "127.0.0.1:21200": true, "[::1]:5000": true, "::1": true,
		"registry.example": false, "registry.example:5000": false, "10.0.0.1:5000": false, "localhost.example": false, "": false,
	} {
		if got := OnThisMachine(host); got != want {
			t.Errorf("%q: got %t", host, got)
		}
	}
	client, err := NewUserClient(func(string) string { return "" })
	if err != nil || !client.plain("127.0.0.1:5000") || client.plain("registry.example") {
		t.Errorf("the client of a user does not do so: %v", err)
	}
}
