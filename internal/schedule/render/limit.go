package render

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// limit is the rule for a field in the definition of a custom resource.
type limit struct {
	field string
	rule  *rule
}

// limits are taken from the definitions of reconcilers' resources, by group and kind. Argo CD's Application and
// Fleet's GitRepo have none for the fields that templates set.
var limits = map[string][]limit{
	"source.toolkit.fluxcd.io GitRepository": {
		{"spec.url", addresses(`^(http|https|ssh)://.*$`, "write https://host/path or ssh://git@host/path in manifests.repo; Flux does not know host:path")},
		{"spec.interval", duration},
		{"spec.timeout", shortDuration},
	},
	"source.toolkit.fluxcd.io HelmRepository": {
		{"spec.url", addresses(`^(http|https|oci)://.*$`, "write https://host/path or oci://host/path in manifests.repo")},
		{"spec.interval", duration},
		{"spec.timeout", shortDuration},
	},
	"source.toolkit.fluxcd.io OCIRepository": {
		{"spec.url", addresses(`^oci://.*$`, "write oci://host/path in manifests.repo")},
		{"spec.interval", duration},
		{"spec.timeout", shortDuration},
	},
	"kustomize.toolkit.fluxcd.io Kustomization": {
		{"spec.targetNamespace", dnsLabel},
		{"spec.namePrefix", upTo(200)},
		{"spec.nameSuffix", upTo(200)},
		{"spec.interval", duration},
		{"spec.retryInterval", duration},
		{"spec.timeout", duration},
	},
	"helm.toolkit.fluxcd.io HelmRelease": {
		{"spec.chart.spec.chart", upTo(2048)},
		{"spec.chart.spec.interval", duration},
		{"spec.releaseName", releaseName},
		{"spec.targetNamespace", dnsLabel},
		{"spec.storageNamespace", upTo(63)},
		{"spec.serviceAccountName", upTo(253)},
		{"spec.interval", duration},
		{"spec.timeout", duration},
	},
	"fleet.cattle.io Bundle": {{"spec.helm.releaseName", fleetRelease}},
}

var (
	duration      = durations("h|m|s|ms")
	shortDuration = durations("m|s|ms")

	releaseName = upTo(maxRelease)
	// fleetRelease is a release name that Helm accepts.
	fleetRelease = &rule{tame: maxRelease, broken: func(value string) []string {
		return append(releaseName.broken(value), dnsDomain.broken(value)...)
	}}
)

// addresses is the rule for Flux URLs. Local paths are valid: package fleet accepts them
// only in a fleet that is entirely on this machine.
func addresses(pattern, hint string) *rule {
	allowed := regexp.MustCompile(pattern)
	return &rule{hint: hint, broken: func(value string) []string {
		here := fleet.IsRelative(value) || strings.HasPrefix(value, "/") || strings.HasPrefix(value, "file://")
		return unless(here || allowed.MatchString(value), "Flux does not accept this URL")
	}}
}

// durations is the rule for durations in some units, such as 1m30s.
func durations(units string) *rule {
	allowed := regexp.MustCompile(`^([0-9]+(\.[0-9]+)?(` + units + `))+$`)
	return &rule{
		hint: "write it with units, like 1m30s; units are " + strings.ReplaceAll(units, "|", ", "),
		broken: func(value string) []string {
			return unless(allowed.MatchString(value), "Flux does not accept this duration")
		},
	}
}

// upTo is the rule for non-empty strings with a maximum number of characters.
func upTo(length int) *rule {
	return &rule{tame: min(length, fleet.MaxLabel), broken: func(value string) []string {
		if value == "" {
			return []string{"it is empty"}
		}
		return unless(utf8.RuneCountInString(value) <= length, fmt.Sprintf("must be no more than %d characters", length))
	}}
}

func unless(ok bool, wrong string) []string {
	if ok {
		return nil
	}
	return []string{wrong}
}
