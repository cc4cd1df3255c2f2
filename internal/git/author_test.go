package git

import "testing"

// In decreasing precedence: the environment, the repository, the user's files; each part separately.
func TestAuthor(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"system":                  "[user]\n\tname = System\n\temail = system@example.com\n",
		"home/.config/git/config": "[user]\n\tname = Xdg\n",
		"home/.gitconfig":         "[user]\n\tname = Ada # the first\n[include]\n\tpath = more\n",
		"home/more":               "[user]\n\temail = ada@example.com\n",
		"broken":                  "[user\n",
	})
	repository := newRepo(t, nil)
	repository.git("config", "user.name", "Grace")
	for name, test := range map[string]struct {
		env    map[string]string
		config string
		want   Person
	}{
		"unknown":         {map[string]string{"HOME": dir}, "", Person{}},
		"user":            {nil, "", Person{"Ada", "ada@example.com"}},
		"repository":      {nil, repository.dir, Person{"Grace", "ada@example.com"}},
		"one global file": {map[string]string{"GIT_CONFIG_GLOBAL": dir + "/broken"}, "", Person{}},
		"system": {
			map[string]string{"GIT_CONFIG_GLOBAL": dir + "/none", "GIT_CONFIG_NOSYSTEM": "", "GIT_CONFIG_SYSTEM": dir + "/system"},
			"",
			Person{"System", "system@example.com"},
		},
		"settings": {
			map[string]string{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "User.Name", "GIT_CONFIG_VALUE_0": "Edith"},
			repository.dir,
			Person{"Edith", "ada@example.com"},
		},
		"environment": {map[string]string{"GIT_AUTHOR_EMAIL": "grace@example.com"}, "", Person{"Ada", "grace@example.com"}},
	} {
		t.Run(name, func(t *testing.T) {
			env := map[string]string{"HOME": dir + "/home"}
			for key, value := range test.env {
				env[key] = value
			}
			c := newClient(t, env)
			c.Config = test.config
			if got := c.Author(); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
