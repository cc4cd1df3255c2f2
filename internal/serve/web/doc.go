// Package web shows the fleet to people: pages that a server makes, for browsers of any size, with or without scripts.
//
//	request ─► Shield: name, headers, panics
//	           └► who asks: may they read? ─► page: question to observing ─► answer ─┬─► JSON, where that is accepted
//	                     └► no: how to sign in                │                      └─► template ─► HTML
//	                                                          └ shared by all who ask the same within a moment
//
// Every page is an address, a folder with a template, and a function that asks package observing. What it answers as JSON
// is the very value of observing, so that a page, the API and a command never disagree.
//
// # What is on a page
//
// The frame, with who is signed in, and the main part. The main part depends on the address and the role alone,
// never on a person: so it is made once for everybody who looks at it, and two hundred viewers cost little more than one.
// Scripts fetch only the main part again when something happened.
//
// # What is not believed
//
// Names, messages and titles come from repositories and clusters. They reach a page as text, escaped by html/template,
// on one line and without credentials; addresses become links only when they are http or https.
// The policy of the pages lets nothing in that is not from this server, and no script or style that is not a file.
//
// # Adding a page
//
// Add a folder to pages with a page.html that defines "main", a function that returns an [answer], and a line to the table
// in routes.go. What people may do, such as to pause an environment, belongs to handlers of their own beside the table, in
// package action: pages only link to them, by role, which templates know as .Role. A form has something of a person in it, so it
// is never in a main part that is shared; [Frame] shows those pages.
package web
