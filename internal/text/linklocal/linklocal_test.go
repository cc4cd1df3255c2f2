package linklocal

import "testing"

func TestDescribeHost(t *testing.T) {
	for host, want := range map[string]bool{
		"169.254.169.254": true, "169.254.1.1": true, "[fe80::1]": true, "fe80::1%eth0": true, "::ffff:169.254.169.254": true,
		"fd00:ec2::254": true, "168.63.129.16": true, "METADATA.google.internal.": true, "64:ff9b::a9fe:a9fe": true,
		"10.0.0.1": false, "127.0.0.1": false, "git.example.com": false, "metadata.example.com": false, "": false,
	} {
		if got := DescribeHost(host) != ""; got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}
