package main

import "testing"

// TestExpression recognizes the licenses of texts, whatever their line breaks.
func TestExpression(t *testing.T) {
	const mit = "Permission is hereby granted, free of charge, to any\nperson obtaining a copy of this software"
	const bsd2 = "Redistribution and use in source and binary forms, with or\nwithout modification, are permitted provided"
	for _, c := range []struct {
		texts []string
		want  string
	}{
		{[]string{mit}, "MIT"},
		{[]string{bsd2}, "BSD-2-Clause"},
		{[]string{"> Redistribution and use in source and binary forms, with or\n> without modification, are permitted"}, "BSD-2-Clause"},
		{[]string{bsd2 + "\nNeither the name may be used to endorse or promote products\nderived from this software"}, "BSD-3-Clause"},
		{[]string{"   Apache License\n   Version 2.0, January 2004", mit}, "Apache-2.0 AND MIT"},
		{[]string{"all rights reserved"}, ""},
		{nil, ""},
	} {
		var texts []licenseText
		for _, text := range c.texts {
			texts = append(texts, licenseText{"LICENSE", text})
		}
		if got := expression(texts); got != c.want {
			t.Errorf("%q: %q, want %q", c.texts, got, c.want)
		}
	}
}

// TestPackageURL compares package URLs with their canonical form.
func TestPackageURL(t *testing.T) {
	c := component("library", "github.com/Masterminds/sprig/v3", "v2.0.0+incompatible")
	if want := "pkg:golang/github.com/masterminds/sprig/v3@v2.0.0%2Bincompatible"; c.PackageURL != want {
		t.Errorf("%s, want %s", c.PackageURL, want)
	}
}
