package harness

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ArgoCDNamespace is where Argo CD's own objects are, by convention; templates follow it.
const ArgoCDNamespace = "argocd"

// ArgoCD is an Argo CD on a cluster, its hub. It serves this cluster, and others that are added.
type ArgoCD struct {
	Hub *Cluster
	// Controller and RepoServer are its processes.
	Controller, RepoServer *Process
}

// StartArgoCD starts Argo CD's application-controller and repo-server beside a cluster, which gets the kinds and the objects that they need.
// Argo CD looks for new commits every few seconds. As by default, it does not write the health of objects into Applications.
func (s *Stack) StartArgoCD(ctx context.Context, hub *Cluster) (*ArgoCD, error) {
	if err := hub.Define(ctx, s.Programs.ArgoCDDefinitions); err != nil {
		return nil, err
	}
	if err := hub.Apply(ctx, argoCDObjects()...); err != nil {
		return nil, err
	}
	at, err := s.ports.take(4)
	if err != nil {
		return nil, err
	}
	redis, repoServer, repoServerMetrics, controllerMetrics := at[0], at[1], at[2], at[3]
	env, bin, err := s.argoCDFiles(hub)
	if err != nil {
		return nil, err
	}
	a := &ArgoCD{Hub: hub}
	a.Controller, err = s.Lab.Start(Program{
		Name: hub.Name + "-argocd-application-controller", Path: filepath.Join(bin, "argocd-application-controller"), Env: env,
		Args: []string{
			"--kubeconfig=" + hub.kubeconfig, "--namespace=" + ArgoCDNamespace, "--metrics=" + controllerMetrics,
			"--listen-redis=" + redis, "--repo-server=" + repoServer, "--resync=5s",
		},
	})
	if err != nil {
		return nil, err
	}
	a.RepoServer, err = s.Lab.Start(Program{
		Name: hub.Name + "-argocd-repo-server", Path: filepath.Join(bin, "argocd-repo-server"), Env: env,
		Args: []string{
			"--address=127.0.0.1", "--port=" + portOf(repoServer), "--metrics-address=127.0.0.1", "--metrics-port=" + portOf(repoServerMetrics),
			"--redis=" + redis, "--disable-tls", "--client-ca-path=", // whose default would be an error without TLS
			"--revision-cache-expiration=1s", // or a commit is found after minutes only
			"--logformat=text",
		},
	})
	if err != nil {
		return nil, err
	}
	return a, errors.Join(
		a.Controller.WaitServing(ctx, "http://"+controllerMetrics+"/healthz"),
		a.RepoServer.WaitServing(ctx, "http://"+repoServerMetrics+"/healthz?full=true"),
	)
}

// argoCDFiles prepares the folders of an Argo CD. Without these settings, all of a machine would share some in /tmp.
func (s *Stack) argoCDFiles(hub *Cluster) (env []string, bin string, err error) {
	home, err := s.Lab.Folder(hub.Name + "-argocd")
	if err != nil {
		return nil, "", err
	}
	for _, folder := range []string{"bin", "tls", "ssh", "plugins"} {
		if err := os.MkdirAll(filepath.Join(home, folder), 0o755); err != nil {
			return nil, "", err
		}
	}
	bin = filepath.Join(home, "bin")
	// The program is told by its name what to be; git starts "argocd" to ask for a password.
	for _, name := range []string{"argocd", "argocd-application-controller", "argocd-repo-server"} {
		if err := os.Symlink(s.Programs.ArgoCD, filepath.Join(bin, name)); err != nil {
			return nil, "", err
		}
	}
	// repo-server calls this script for each commit, whether signatures are checked or not. In the module cache it is not executable.
	script, err := os.ReadFile(s.Programs.ArgoCDVerifier)
	if err != nil {
		return nil, "", err
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(bin, filepath.Base(s.Programs.ArgoCDVerifier)), script, 0o755),
		os.WriteFile(filepath.Join(home, "ssh", "ssh_known_hosts"), nil, 0o600),
	)
	return []string{
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "KUBECONFIG=" + hub.kubeconfig,
		"ARGOCD_FAKE_IN_CLUSTER=true", // https://kubernetes.default.svc is the cluster of KUBECONFIG
		"ARGOCD_GPG_ENABLED=false",
		"ARGOCD_TLS_DATA_PATH=" + filepath.Join(home, "tls"), "ARGOCD_SSH_DATA_PATH=" + filepath.Join(home, "ssh"),
		"ARGOCD_PLUGINSOCKFILEPATH=" + filepath.Join(home, "plugins"), "ARGOCD_ASK_PASS_SOCK=" + filepath.Join(home, "ask"),
	}, bin, err
}

func argoCDObjects() []*unstructured.Unstructured {
	all := []any{map[string]any{"group": "*", "kind": "*"}}
	return []*unstructured.Unstructured{
		Namespace(ArgoCDNamespace),
		argoCDObject("v1", "ConfigMap", "argocd-cm", nil),
		argoCDObject("v1", "Secret", "argocd-secret", map[string]any{"type": "Opaque"}),
		argoCDObject("argoproj.io/v1alpha1", "AppProject", "default", map[string]any{"spec": map[string]any{
			"sourceRepos": []any{"*"}, "destinations": []any{map[string]any{"namespace": "*", "server": "*"}}, "clusterResourceWhitelist": all,
		}}),
	}
}

func argoCDObject(version, kind, name string, fields map[string]any) *unstructured.Unstructured {
	o := map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{
		"name": name, "namespace": ArgoCDNamespace, "labels": map[string]any{"app.kubernetes.io/part-of": "argocd"},
	}}
	for field, value := range fields {
		o[field] = value
	}
	return &unstructured.Unstructured{Object: o}
}

// secret applies a Secret that Argo CD reads as a cluster or a repository.
func (a *ArgoCD) secret(ctx context.Context, kind, name string, data map[string]any) error {
	o := argoCDObject("v1", "Secret", kind+"-"+name, map[string]any{"type": "Opaque", "stringData": data})
	o.SetLabels(map[string]string{"argocd.argoproj.io/secret-type": kind})
	return a.Hub.Apply(ctx, o)
}

// AddCluster lets Argo CD serve one more cluster, with all rights. Applications name it as their destination.
func (a *ArgoCD) AddCluster(ctx context.Context, name string, c *Cluster) error {
	return a.addCluster(ctx, name, c, c.config.BearerToken)
}

// LoseCluster takes from Argo CD the credential of a cluster, until it is added again.
func (a *ArgoCD) LoseCluster(ctx context.Context, name string, c *Cluster) error {
	return a.addCluster(ctx, name, c, "invalid")
}

func (a *ArgoCD) addCluster(ctx context.Context, name string, c *Cluster, token string) error {
	authority, err := os.ReadFile(c.config.CAFile)
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"bearerToken": token, "tlsClientConfig": map[string]any{"caData": base64.StdEncoding.EncodeToString(authority)},
	})
	if err != nil {
		return err
	}
	return a.secret(ctx, "cluster", name, map[string]any{"name": name, "server": c.config.Host, "config": string(config)})
}

// AddRepository gives Argo CD the credential of an account for a repository.
func (a *ArgoCD) AddRepository(ctx context.Context, name string, r *Repository, as Account) error {
	return a.secret(ctx, "repository", name, map[string]any{"type": "git", "url": r.URL(), "username": as.Name, "password": as.Token})
}

// AddRegistry gives Argo CD the credential of an account for a repository of a registry without TLS, "oci://host/name".
func (a *ArgoCD) AddRegistry(ctx context.Context, name, url string, as Account) error {
	return a.secret(ctx, "repository", name, map[string]any{"type": "oci", "url": url, "username": as.Name, "password": as.Token, "insecureOCIForceHttp": "true"})
}

// Follow is an Application that applies a folder of a branch, by itself. directory chooses files; it may be nil for all.
func (a *ArgoCD) Follow(ctx context.Context, f Follow, destination string, directory map[string]any) error {
	source := map[string]any{"repoURL": f.URL, "targetRevision": f.Branch, "path": f.Path}
	if directory != nil {
		source["directory"] = directory
	}
	to := map[string]any{"name": destination}
	if f.Namespace != "" {
		to["namespace"] = f.Namespace
	}
	o := argoCDObject("argoproj.io/v1alpha1", "Application", f.Name, map[string]any{"spec": map[string]any{
		"project": "default", "source": source, "destination": to,
		"syncPolicy": map[string]any{"automated": map[string]any{"prune": true, "selfHeal": true}},
	}})
	o.SetFinalizers([]string{"resources-finalizer.argocd.argoproj.io/foreground"})
	return a.Hub.Apply(ctx, o)
}

// Refresh has Argo CD look at an Application's repository now, as a webhook would.
func (a *ArgoCD) Refresh(ctx context.Context, application string) error {
	return a.Hub.Annotate(ctx, Applications, ArgoCDNamespace, application, "argocd.argoproj.io/refresh", "normal")
}

// Synced has no error when an Application has synced a commit and everything in it is healthy.
func (a *ArgoCD) Synced(ctx context.Context, application, commit string) error {
	o, err := a.Hub.Get(ctx, Applications, ArgoCDNamespace, application)
	if err != nil {
		return err
	}
	sync, _, _ := unstructured.NestedString(o.Object, "status", "sync", "status")
	revision, _, _ := unstructured.NestedString(o.Object, "status", "sync", "revision")
	health, _, _ := unstructured.NestedString(o.Object, "status", "health", "status")
	if sync != "Synced" || health != "Healthy" || revision != commit {
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		message, _, _ := unstructured.NestedString(o.Object, "status", "operationState", "message")
		return fmt.Errorf("%s is %s and %s at %q, want %s: %s %v", application, sync, health, revision, commit, message, conditions)
	}
	return nil
}

// Remove deletes an Application, and waits until what it applied is gone.
func (a *ArgoCD) Remove(ctx context.Context, application string) error {
	o := argoCDObject("argoproj.io/v1alpha1", "Application", application, nil)
	if err := a.Hub.Delete(ctx, o); err != nil {
		return err
	}
	return Until(ctx, startTime, func(ctx context.Context) error {
		_, err := a.Hub.Get(ctx, Applications, ArgoCDNamespace, application)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(fmt.Errorf("%s is still there", application), err)
	})
}
