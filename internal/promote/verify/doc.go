// Package verify runs the verifications of promotions: it requests a URL, or runs a program. It also runs the programs of scans,
// and asks the external schedulers that the operator configured.
//
// Verifications are defined in a control plane repository, by users who may not be operators of the server.
// So their access is limited:
//
//	URLs      http and https only, by GET, without credentials, cookies or proxy. Addresses of this machine, of private networks,
//	          of links and of the metadata services of clouds are refused unless the operator allows them, whatever name leads
//	          there. Redirects stay on their host. A few kilobytes of the answer are read.
//	programs  only those that the operator allows by their paths, without a shell, in an empty folder, with the few variables
//	          that [Variables] lists, and in a process group that ends with them, and when the time is up.
//
// Only the last few kilobytes of the output are kept, without control characters and credentials in URLs.
package verify
