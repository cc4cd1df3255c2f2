package harness

import "context"

// startEtcd starts one member and returns its URL. Several API servers share it, each with a prefix of its own.
func (s *Stack) startEtcd(ctx context.Context) (string, error) {
	data, err := s.Lab.Folder("etcd", "data")
	if err != nil {
		return "", err
	}
	at, err := s.ports.take(2)
	if err != nil {
		return "", err
	}
	clients, peers := "http://"+at[0], "http://"+at[1]
	p, err := s.Lab.Start(Program{Name: "etcd", Path: s.Programs.Etcd, Args: []string{
		"--data-dir=" + data,
		"--listen-client-urls=" + clients, "--advertise-client-urls=" + clients,
		"--listen-peer-urls=" + peers, "--initial-advertise-peer-urls=" + peers, "--initial-cluster=default=" + peers,
		"--log-level=warn",
		"--unsafe-no-fsync", // the data do not outlive the test
	}})
	if err != nil {
		return "", err
	}
	return clients, p.WaitReady(ctx, answers(clients+"/health", ""))
}
