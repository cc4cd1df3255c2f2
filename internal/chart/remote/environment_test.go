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
