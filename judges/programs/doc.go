// Package programs reads what Kalypso publishes to its registry with the programs that people use: crane and oras.
//
// It is a module of its own, so that the program does not depend on its judges.
package programs
