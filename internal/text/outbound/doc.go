// Package outbound makes the HTTP clients with which the program connects to other machines. A test of the repository refuses others.
//
// Each client
//
//   - connects to permitted addresses only, which are checked after names are resolved. Without a rule, these are all but those of links and of
//     the metadata services of clouds;
//   - follows redirects by one of a few rules, and never from https to http;
//   - limits the time to connect and to begin an answer, the size of headers, and the size of answers if it is told to;
//   - hides the credential that it sends in whatever comes back: in errors, in the status, in headers and in the body. Nobody has to remember
//     that, and a credential that was sent is hidden in the log, too.
//
// Credentials are found in the headers and the URL of a request. [With] adds others, such as those in its body.
package outbound
