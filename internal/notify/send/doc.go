// Package send sends messages over HTTP and SMTP.
//
// Errors name no address that may be secret: the URL of a chat's webhook is a credential. Connections go to the host that the operator
// configured, and to no address of a metadata service behind its name. Redirects are not followed.
package send
