package render

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// limit is a rule of the definition of a custom resource, for a field below its root.
type limit struct {
	field string
	rule  *rule
}

// limits are those of reconcilers' own resources, as their definitions have them, by group and kind. The Applications of Argo CD and
// the GitRepos of Fleet have none for what templates write into them.
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
	// fleetRelease is a name that Helm takes; Flux leaves saying so to Helm.
	fleetRelease = &rule{tame: maxRelease, broken: func(value string) []string {
		return append(releaseName.broken(value), dnsDomain.broken(value)...)
	}}
)

// addresses is a rule for URLs of Flux. A place on this machine keeps it: assembling a fleet has let it through,
// because nothing of that fleet leaves this machine.
func addresses(pattern, hint string) *rule {
	allowed := regexp.MustCompile(pattern)
	return &rule{hint: hint, broken: func(value string) []string {
		here := fleet.IsRelative(value) || strings.HasPrefix(value, "/") || strings.HasPrefix(value, "file://")
		return unless(here || allowed.MatchString(value), "Flux takes no such URL here")
	}}
}

// durations is a rule for durations in some units, such as 1m30s.
func durations(units string) *rule {
	allowed := regexp.MustCompile(`^([0-9]+(\.[0-9]+)?(` + units + `))+$`)
	return &rule{
		hint: "write it with units, like 1m30s; there are " + strings.ReplaceAll(units, "|", ", "),
		broken: func(value string) []string {
			return unless(allowed.MatchString(value), "Flux takes no such duration here")
		},
	}
}

// upTo is a rule for texts of so many characters that are not empty.
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
