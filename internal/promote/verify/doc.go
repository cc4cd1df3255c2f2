// Package verify runs the verifications of promotions: it asks a URL, or runs a program. The programs of scans are run in the same way.
//
// What is to be run is written in a control plane repository, by people who need not be those who run the server.
// So it gets nothing that it could abuse:
//
//	URLs      http and https only, by GET, without credentials, cookies or proxy. Addresses of this machine, of private networks,
//	          of links and of the metadata services of clouds are refused unless the operator allows them, whatever name leads
//	          there. Redirects stay on their host. A few kilobytes of the answer are read.
//	programs  only those that the operator allows by their paths, without a shell, in an empty folder, with the few variables
//	          that [Variables] lists, and in a process group that ends with them, and when the time is up.
//
// Output is kept to its end of a few kilobytes, on clean lines, and without what looks like the credential of a URL.
package verify
