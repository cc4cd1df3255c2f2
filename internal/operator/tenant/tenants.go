package tenant

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/connect"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/operator"
	"github.com/kalypso-io/kalypso/internal/plane"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Options are those of [New].
type Options struct {
	// Folder keeps clones of repositories, in a folder for each control plane in a folder for each namespace. // required
	Folder string
	// MaxClones is the size of a namespace's folder, in bytes, above which it is emptied before the next round. Default: 1 GiB.
	MaxClones int64
	// Allowed are the servers that control planes may use.
	Allowed Allowed
	// Answer is how long the database of a ledger may take to accept a connection, and to be opened. Default: 15 seconds.
	Answer time.Duration
	// VerifyHosts are the private names and addresses that verifications may send requests to, and that charts and digests of images may be read
	// from. Default: public ones only.
	VerifyHosts []string
	// Box is the memory of the operator and its renderers together. Default: each renderer has as much as for a command.
	Box sandbox.Box
	// Version is the version of the program, which published versions have.
	Version string
	// Settle is how long the checks of others may take to appear after a push. Default: [forge.DefaultSettle].
	Settle *time.Duration
}

// Tenants opens tenants and keeps them open. It is safe for concurrent use.
type Tenants struct {
	Options

	// charts limits the charts that are rendered at once, which take much memory, and shares the processes among namespaces.
	charts sandbox.Pool

	mu   sync.Mutex
	open map[types.NamespacedName]*Tenant
	// checks are the verifications, by namespace.
	checks map[string]*checks
}

var _ operator.Tenants = (*Tenants)(nil)

// chartProcesses is how many charts are rendered at once.
const chartProcesses = 2

// New returns tenants without any connection.
func New(o Options) *Tenants {
	if o.MaxClones == 0 {
		o.MaxClones = 1 << 30
	}
	o.Answer = cmp.Or(o.Answer, 15*time.Second)
	t := &Tenants{Options: o, charts: sandbox.Pool{Size: chartProcesses, Share: 1}, open: map[types.NamespacedName]*Tenant{}}
	o.Box.Fit(&t.charts)
	return t
}

// Limits limits the memory of this process, and returns a line for the log.
func (t *Tenants) Limits(env map[string]string) string { return t.Box.Apply(env, &t.charts) }

// Open implements [operator.Tenants].
func (t *Tenants) Open(a operator.Access) (operator.Tenant, error) {
	tenant, err := t.opened(a)
	if err != nil {
		return nil, err
	}
	t.trim(a.Name.Namespace)
	return tenant, nil
}

// trim empties the folder of a namespace if it is too large. Control planes whose rounds are running keep their clones until the next time.
func (t *Tenants) trim(namespace string) {
	folder := filepath.Join(t.Folder, namespace)
	if sizeOf(folder) <= t.MaxClones {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	busy := map[string]bool{}
	for _, tenant := range t.open {
		if tenant.access.Name.Namespace == namespace && !tenant.empty() {
			busy[tenant.folder] = true
		}
	}
	left, _ := os.ReadDir(folder) // what earlier operators left behind
	for _, entry := range left {
		if of := filepath.Join(folder, entry.Name()); !busy[of] {
			_ = os.RemoveAll(of) // a cache
		}
	}
}

func (t *Tenants) opened(a operator.Access) (*Tenant, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id, err := identify(a)
	if err != nil {
		return nil, err
	}
	was := t.open[a.Name]
	if was != nil && was.id == id {
		return was, nil
	}
	if was != nil {
		delete(t.open, a.Name)
		was.close(was.access.UID != a.UID)
	}
	tenant, err := t.connect(a)
	if err != nil {
		return nil, err
	}
	tenant.id = id
	t.open[a.Name] = tenant
	return tenant, nil
}

// Forget implements [operator.Tenants].
func (t *Tenants) Forget(name types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tenant := t.open[name]; tenant != nil {
		delete(t.open, name)
		tenant.close(true)
	}
}

// identify returns a hash of what the connections of a tenant are made from, credentials included.
func identify(a operator.Access) (string, error) {
	spec, err := json.Marshal(map[string]any{
		"uid": a.UID, "source": a.Spec.Source, "forge": a.Spec.Forge, "token": a.Token.Reveal(), "user": a.User, "password": a.Password.Reveal(),
		"planPullRequests": a.Spec.PlanPullRequests, "chain": a.Spec.Ledger, "ledger": a.Ledger.Reveal(),
	})
	sum := sha256.Sum256(spec)
	return hex.EncodeToString(sum[:]), err
}

// tokenVariable is the entry of the environment that a forge reads its token from. The operator's own environment is not used.
const tokenVariable = "TOKEN"

// connect makes the connections of a tenant. It sends no requests.
func (t *Tenants) connect(a operator.Access) (*Tenant, error) {
	if err := t.Allowed.checkURL(a.Spec.Forge.URL); err != nil {
		return nil, fmt.Errorf("spec.forge.url: %w", err)
	}
	if at := a.Spec.Source.Repository; at != "" {
		if err := t.Allowed.checkURL(at); err != nil {
			return nil, fmt.Errorf("spec.source.repository: %w", err)
		}
	}
	connection := forge.Connection{Kind: forge.Kind(a.Spec.Forge.Kind), URL: a.Spec.Forge.URL, TokenEnv: tokenVariable}
	if t.Settle != nil {
		connection.Settle = &metav1.Duration{Duration: *t.Settle}
	}
	env := map[string]string{tokenVariable: a.Token.Reveal()}
	host, err := connect.Open(connection, env, transport.Config{})
	if err != nil {
		return nil, err
	}
	forges := forge.Forges{host}
	access, err := connect.Git([]forge.Connection{connection}, forges, env)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(t.Folder, a.Name.Namespace, string(a.UID))
	client := &git.Client{
		CacheDir: folder, Map: access.Maps, Credentials: access.Credentials, Elsewhere: true, Allow: t.Allowed.check,
		// Neither the container's files nor its environment have credentials or settings for tenants.
		Env: func(name string) string {
			return map[string]string{"GIT_CONFIG_NOSYSTEM": "true", "GIT_CONFIG_GLOBAL": os.DevNull, "HOME": folder}[name]
		},
		Limits: git.Limits{Pack: t.MaxClones / 2},
	}
	if !a.Password.IsZero() {
		source, err := url.Parse(a.Spec.Source.Repository)
		if err != nil {
			return nil, errors.New("spec.source.repository: not a URL")
		}
		source.User = url.UserPassword(cmp.Or(a.User, "git"), a.Password.Reveal())
		client.Map = append(client.Map, git.Mapping{From: a.Spec.Source.Repository, To: source.String()}) // the longest From applies
	}
	return &Tenant{
		access: a, folder: folder, client: client, forges: forges,
		commits: repository.Committer{Client: client, Author: git.Person{Name: "Kalypso", Email: "kalypso@localhost"}},
		cache:   &fleet.Cache{}, memory: &schedule.Memory{}, board: &plane.Board{}, charts: &t.charts,
		allowed: t.Allowed, answer: t.Answer, verifyHosts: t.VerifyHosts, checks: t.checksOf(a.Name.Namespace),
		// Documents of the tenant name the registry. No credential goes there.
		publisher: &plane.Publisher{Client: &remote.Client{HTTP: (&verify.Runner{Hosts: t.VerifyHosts}).Client()}, Version: t.Version},
	}, nil
}

// sizeOf returns the size of a folder's files. What disappears meanwhile does not count.
func sizeOf(folder string) int64 {
	var size int64
	_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // it disappeared
		}
		if info, err := d.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return size
}
