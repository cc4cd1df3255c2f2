package harness

import (
	"context"
	"fmt"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// startCluster starts a control plane of Kubernetes without nodes: an API server with a prefix of its own in etcd,
// and the controllers without which nothing is ever gone, neither namespaces nor what belongs to owners.
func (s *Stack) startCluster(ctx context.Context, name string) (*Cluster, error) {
	config, server, again, err := s.startAPIServer(ctx, name)
	if err != nil {
		return nil, err
	}
	home, err := s.Lab.Folder("kubeconfig")
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(home, name+".yaml")
	if err := writeKubeconfig(kubeconfig, config); err != nil {
		return nil, err
	}
	err = s.startControllerManager(ctx, name+"-controller-manager", kubeconfig, "namespace-controller,garbage-collector-controller")
	if err != nil {
		return nil, err
	}
	c, err := newCluster(name, kubeconfig, config)
	if err != nil {
		return nil, err
	}
	c.server, c.again = server, again
	return c, nil
}

// startAPIServer starts an API server. again starts it once more, after it has ended.
func (s *Stack) startAPIServer(ctx context.Context, cluster string) (config *rest.Config, server *Process, again func(context.Context) (*Process, error), err error) {
	name := cluster + "-apiserver"
	certificates, err := s.Lab.Folder(name, "certificates")
	if err != nil {
		return nil, nil, nil, err
	}
	at, err := s.ports.next()
	if err != nil {
		return nil, nil, nil, err
	}
	program := Program{Name: name, Path: s.Programs.APIServer, Args: []string{
		"--etcd-servers=" + s.etcd, "--etcd-prefix=/" + cluster,
		"--bind-address=127.0.0.1", "--secure-port=" + portOf(at), "--advertise-address=127.0.0.1", "--cert-dir=" + certificates,
		// No other cluster member will ever look for this server.
		"--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + s.keys.public, "--service-account-signing-key-file=" + s.keys.private,
		"--token-auth-file=" + s.keys.tokens, "--authorization-mode=RBAC",
		// No controller creates the default service accounts that it would wait for.
		"--disable-admission-plugins=ServiceAccount",
	}}
	config = &rest.Config{
		Host: "https://" + at, BearerToken: s.keys.token, QPS: -1, // this client need not be kind to its server
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(certificates, "apiserver.crt")},
	}
	again = func(ctx context.Context) (*Process, error) {
		p, err := s.Lab.Start(program)
		if err != nil {
			return nil, err
		}
		return p, p.WaitReady(ctx, answers(config.Host+"/readyz", s.keys.token))
	}
	server, err = again(ctx)
	return config, server, again, err
}

// startControllerManager starts some of Kubernetes' controllers, in a process of that name.
func (s *Stack) startControllerManager(ctx context.Context, name, kubeconfig, controllers string, more ...string) error {
	certificates, err := s.Lab.Folder(name, "certificates")
	if err != nil {
		return err
	}
	at, err := s.ports.next()
	if err != nil {
		return err
	}
	p, err := s.Lab.Start(Program{Name: name, Path: s.Programs.ControllerManager, Args: append([]string{
		"--kubeconfig=" + kubeconfig, "--controllers=" + controllers,
		"--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=" + portOf(at), "--cert-dir=" + certificates,
	}, more...)})
	if err != nil {
		return err
	}
	return p.WaitReady(ctx, answers("https://"+at+"/healthz", ""))
}

// writeKubeconfig writes down how to reach a cluster, for programs that want a file.
func writeKubeconfig(path string, config *rest.Config) error {
	const only = "only"
	file := api.Config{
		CurrentContext: only,
		Contexts:       map[string]*api.Context{only: {Cluster: only, AuthInfo: only}},
		Clusters:       map[string]*api.Cluster{only: {Server: config.Host, CertificateAuthority: config.CAFile}},
		AuthInfos:      map[string]*api.AuthInfo{only: {Token: config.BearerToken}},
	}
	if err := clientcmd.WriteToFile(file, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
