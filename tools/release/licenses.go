package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// thirdParty is the file with the licenses of all modules that are linked into a program.
const thirdParty = "THIRD_PARTY_LICENSES"

// module is a Go module that is linked into a program, or the standard library.
type module struct {
	path, version string
	licenses      string // an SPDX expression
	texts         []licenseText
	needs         []string // the paths of the modules that it imports
}

// licenseText is a file with a license or a notice.
type licenseText struct{ name, content string }

// standardLibrary is the path of the standard library among the modules.
const standardLibrary = "stdlib"

// licenseFile matches the files that a binary distribution has to contain.
var licenseFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice|patents|copyright)s?([._-].*)?$`)

// readModules reads the modules of a program with their licenses. Only the folders of linked packages, and those above them, count.
func (r *release) readModules(ctx context.Context, b *binary) error {
	const format = `{{.ImportPath}}{{"\t"}}{{.Dir}}{{"\t"}}{{with .Module}}{{.Path}}{{"\t"}}{{.Dir}}{{else}}{{"\t"}}{{end}}{{"\t"}}{{join .Imports " "}}`
	out, err := command(ctx, r.root, append(b.environment(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off"), "go", "list", "-deps", "-f", format, b.Package)
	if err != nil {
		return err
	}
	packages := linkedPackages(string(out))
	root, err := command(ctx, r.root, nil, "go", "env", "GOROOT")
	if err != nil {
		return err
	}
	goRoot := strings.TrimSpace(string(root))
	all := []module{{path: standardLibrary, version: strings.TrimPrefix(b.info.GoVersion, "go")}}
	for _, m := range b.info.Deps {
		all = append(all, module{path: m.Path, version: replaced(m).Version})
	}
	for i := range all {
		m := &all[i]
		m.needs = packages.needs(m.path)
		folders := packages.folders(m.path)
		if m.path == standardLibrary {
			folders = []string{goRoot}
		}
		if m.texts, err = readLicenses(folders); err != nil {
			return err
		}
		if m.licenses = expression(m.texts); m.licenses == "" {
			return fmt.Errorf("%s contains %s, whose license is not known: add the words of its license to licenses.go", b.Name, m.path)
		}
	}
	b.modules, b.needs = all, packages.needs(b.info.Main.Path)
	return nil
}

func replaced(m *debug.Module) *debug.Module {
	if m.Replace != nil {
		return m.Replace
	}
	return m
}

// linkedPackage is a package of a program, as "go list" prints it.
type linkedPackage struct {
	path, folder, module, root string
	imports                    []string
}

type packagesOfProgram []linkedPackage

func linkedPackages(list string) (all packagesOfProgram) {
	for line := range strings.Lines(list) {
		if f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(f) == 5 {
			p := linkedPackage{path: f[0], folder: f[1], module: f[2], root: f[3], imports: strings.Fields(f[4])}
			if p.module == "" {
				p.module = standardLibrary
			}
			all = append(all, p)
		}
	}
	return all
}

// folders returns the folders of the packages of a module, and those above them, up to the root of the module.
func (all packagesOfProgram) folders(module string) (folders []string) {
	for _, p := range all {
		if p.module != module || p.root == "" {
			continue
		}
		for folder := p.folder; ; folder = filepath.Dir(folder) {
			folders = append(folders, folder)
			if folder == p.root || len(folder) <= len(p.root) {
				break
			}
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// needs returns the other modules that the packages of a module import.
func (all packagesOfProgram) needs(module string) (needs []string) {
	owner := map[string]string{}
	for _, p := range all {
		owner[p.path] = p.module
	}
	for _, p := range all {
		if p.module != module {
			continue
		}
		for _, i := range p.imports {
			if to := owner[i]; to != "" && to != module {
				needs = append(needs, to)
			}
		}
	}
	slices.Sort(needs)
	return slices.Compact(needs)
}

// readLicenses reads the licenses and notices in some folders, each text once.
func readLicenses(folders []string) (texts []licenseText, err error) {
	for _, folder := range folders {
		files, err := os.ReadDir(folder)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if !f.Type().IsRegular() || !licenseFile.MatchString(f.Name()) || path.Ext(f.Name()) == ".go" {
				continue
			}
			content, err := os.ReadFile(filepath.Join(folder, f.Name()))
			if err != nil {
				return nil, err
			}
			text := licenseText{f.Name(), strings.TrimRight(strings.ReplaceAll(string(content), "\r\n", "\n"), "\n") + "\n"}
			if !slices.ContainsFunc(texts, func(t licenseText) bool { return t.content == text.content }) {
				texts = append(texts, text)
			}
		}
	}
	return texts, nil
}

// licenses are recognized by words that no other license has.
var licenses = []struct{ id, words string }{
	{"Apache-2.0", "Apache License Version 2.0"},
	{"Apache-2.0", "Apache License, Version 2.0"},
	{"MPL-2.0", "Mozilla Public License Version 2.0"},
	{"MPL-2.0", "Mozilla Public License, version 2.0"},
	{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose"},
	{"ISC", "Permission to use, copy, modify, and distribute this software for any purpose"},
	{"BSD-3-Clause", "may be used to endorse or promote products derived from"},
	{"CC0-1.0", "CC0 1.0 Universal"},
	{"CC-BY-SA-4.0", "Attribution-ShareAlike 4.0 International"},
	{"Zlib", "This software is provided 'as-is', without any express or implied warranty"},
	{"Unlicense", "This is free and unencumbered software released into the public domain"},
}

// bsd is in the licenses BSD-2-Clause and BSD-3-Clause.
const bsd = "Redistribution and use in source and binary forms, with or without modification, are permitted"

// expression returns the licenses of texts as an SPDX expression; empty if none is recognized. All of them apply.
func expression(texts []licenseText) string {
	var ids []string
	for _, t := range texts {
		words := wordsOf(t.content)
		for _, l := range licenses {
			if strings.Contains(words, strings.ToLower(l.words)) {
				ids = append(ids, l.id)
			}
		}
		if strings.Contains(words, strings.ToLower(bsd)) && !strings.Contains(words, "may be used to endorse or promote products derived from") {
			ids = append(ids, "BSD-2-Clause")
		}
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), " AND ")
}

// wordsOf returns a text in lower case on one line, without the marks of quotes and comments at the beginning of lines.
func wordsOf(text string) string {
	words := strings.Fields(strings.ToLower(text))
	words = slices.DeleteFunc(words, func(w string) bool { return strings.Trim(w, ">*#/-") == "" })
	return strings.Join(words, " ")
}

// licenseEntries are the files with licenses for an archive or an image of a program.
func (r *release) licenseEntries(b *binary) ([]entry, error) {
	var entries []entry
	for _, name := range r.LicenseFiles {
		content, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name: path.Base(name), mode: 0o644, content: content})
	}
	return append(entries, entry{name: thirdParty, mode: 0o644, content: []byte(b.thirdPartyLicenses())}), nil
}

// thirdPartyLicenses returns the licenses and notices of all modules of a program.
func (b *binary) thirdPartyLicenses() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s contains the following modules. Their licenses and notices follow below.\n\n", b.Name)
	for _, m := range b.modules {
		fmt.Fprintf(&out, "%s %s: %s\n", m.path, m.version, m.licenses)
	}
	line := strings.Repeat("-", 80)
	for _, m := range b.modules {
		for _, t := range m.texts {
			fmt.Fprintf(&out, "\n%s\n%s %s: %s\n%s\n\n%s", line, m.path, m.version, t.name, line, t.content)
		}
	}
	return out.String()
}
