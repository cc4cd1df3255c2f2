package chart

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
)

// RandomFunctions are the functions of sprig with a random result.
var RandomFunctions = []string{
	"randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes", "randInt", "shuffle", "uuidv4",
	"bcrypt", "htpasswd", "encryptAES",
	"genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey",
}

// SortedKeys returns the keys of maps, sorted per map. Sprig's own function returns them in random order.
func SortedKeys(dicts ...map[string]any) []string {
	all := []string{}
	for _, dict := range dicts {
		all = append(all, slices.Sorted(maps.Keys(dict))...)
	}
	return all
}

// SortedValues returns the values of a map in the order of its keys. Sprig's own function returns them in random order.
func SortedValues(dict map[string]any) []any {
	all := []any{}
	for _, key := range slices.Sorted(maps.Keys(dict)) {
		all = append(all, dict[key])
	}
	return all
}

// Printf is [fmt.Sprintf] without addresses of memory, which differ each time. The verb %p is an error, and a value with pointers in it
// is formatted as the text that %v makes of it.
func Printf(format string, values ...any) (string, error) {
	for _, verb := range verbs.FindAllString(format, -1) {
		if verb[len(verb)-1] == 'p' {
			return "", fmt.Errorf("printf: %s would print an address of memory, and the same commits must give the same files", verb)
		}
	}
	plain := slices.Clone(values)
	for i, v := range values {
		if hasPointer(reflect.ValueOf(v), 0) {
			plain[i] = fmt.Sprint(v)
		}
	}
	return fmt.Sprintf(format, plain...), nil
}

// verbs matches the verbs of a format with their flags; %% is one, too.
var verbs = regexp.MustCompile(`%[-+# 0-9.*\[\]]*.`)

// maxNesting limits how deep a value is searched for pointers.
const maxNesting = 100

// hasPointer reports whether a value has pointers in it, or is nested too deeply to tell.
func hasPointer(v reflect.Value, depth int) bool {
	if depth > maxNesting {
		return true
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return true
	case reflect.Interface:
		return hasPointer(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if hasPointer(v.Index(i), depth+1) {
				return true
			}
		}
	case reflect.Map:
		for _, value := range v.Seq2() {
			if hasPointer(value, depth+1) {
				return true
			}
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if hasPointer(field, depth+1) {
				return true
			}
		}
	}
	return false
}
