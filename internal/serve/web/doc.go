// Package web shows the fleet in a browser: pages rendered by the server, for any screen size, with or without scripts.
//
//	request ─► Shield: request ID, headers, panics
//	           └► Guard: a reader? ─► page: query to the hub ─► result ─┬─► JSON, if the client accepts it
//	                     └► no: how to sign in            │             └─► template ─► HTML
//	                                                      └ cached for a second, for all users of a role
//
// Every page is an address, a folder with a template, and a function that queries [query.Observer]. As JSON it answers with the
// Observer's value, so that a page, the API and a command never disagree.
//
// # Parts of a page
//
// The frame shows who is signed in. The main part depends on the address and the role only, never on the user. It is therefore
// rendered once for all viewers, and two hundred viewers cost little more than one. Scripts fetch only the main part again
// when something has happened.
//
// # Untrusted input
//
// Names, messages and titles come from repositories and clusters. They are escaped by html/template, put on one line and stripped of
// credentials. Addresses become links only if they are http or https. The content security policy allows nothing from other
// servers, and no inline scripts or styles.
//
// # Adding a page
//
// Add a folder to pages with a page.html that defines "main", a function that returns a [pageResult], and a line to the table
// in routes.go. Actions, such as pausing an environment, have handlers of their own in package action. Pages only link to them,
// depending on the role, which templates know as .Role. A form belongs to a user, so it is never in a cached main part; [Frame] shows
// those pages.
package web
