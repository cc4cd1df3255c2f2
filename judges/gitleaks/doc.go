// Package gitleaks compares the credentials that Kalypso's checks find with those that gitleaks finds.
//
// It is a module of its own, so that the program does not depend on what only its judge needs: gitleaks reads repositories and archives of all
// kinds. The program in export writes the patterns of gitleaks for package check.
package gitleaks
