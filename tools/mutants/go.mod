module github.com/kalypso-io/kalypso/tools/mutants

go 1.26.0
