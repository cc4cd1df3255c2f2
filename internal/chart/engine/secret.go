package engine

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
)

// leastDrawn is the length of the shortest text that can be found again in the output.
const leastDrawn = 4

// secretObject is a Secret with values that a chart makes up.
type secretObject struct {
	name, namespace, kind string
	metadata              map[string]any
	keys                  []secretKey
}

// secretKey is a key of a Secret: its parts are texts of the chart and drawn ones.
type secretKey struct {
	name  string
	parts []textPart
}

// textPart is a text of the chart, or a drawn one.
type textPart struct {
	text  string
	drawn *drawn
	// number identifies the drawn text in its rendering.
	number int
}

func (k secretKey) isRandom() bool {
	return slices.ContainsFunc(k.parts, func(p textPart) bool { return p.drawn != nil })
}

// random returns the keys with values that are made up.
func (s *secretObject) random() []string {
	var keys []string
	for _, k := range s.keys {
		if k.isRandom() {
			keys = append(keys, k.name)
		}
	}
	return keys
}

// has reports whether a value has a drawn text.
func (s *secretObject) has(text string) bool {
	return slices.ContainsFunc(s.keys, func(k secretKey) bool {
		return slices.ContainsFunc(k.parts, func(p textPart) bool { return p.drawn != nil && p.drawn.text == text })
	})
}

// certificates reports whether a key has a certificate or its private key.
func (s *secretObject) certificates() bool {
	return slices.ContainsFunc(s.keys, func(k secretKey) bool {
		return slices.ContainsFunc(k.parts, func(p textPart) bool { return p.drawn != nil && p.drawn.signed != nil })
	})
}

// secretKeys returns the values of a Secret as text; those of stringData take precedence.
func secretKeys(d document) (map[string]string, error) {
	keys := map[string]string{}
	data, _ := d.fields["data"].(map[string]any)
	for key, value := range data {
		decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(fmt.Sprint(value)), ""))
		if value == nil {
			decoded, err = nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the key %s is not encoded in base64", key)
		}
		keys[key] = string(decoded)
	}
	plain, _ := d.fields["stringData"].(map[string]any)
	for key, value := range plain {
		if keys[key] = fmt.Sprint(value); value == nil {
			keys[key] = ""
		}
	}
	return keys, nil
}

// secretText returns all values of a Secret.
func secretText(d document) string {
	keys, _ := secretKeys(d)
	return strings.Join(slices.Collect(maps.Values(keys)), "\n")
}

// read finds out what the values of a Secret are made from. The two renderings must have the same parts.
func (m *maker) read(p pair) (*secretObject, error) {
	was, is := withoutData(p.was.fields), withoutData(p.is.fields)
	if !sameButDigests(was, is, false) {
		return nil, errors.New("more than its values is made up")
	}
	first, err := secretKeys(p.was)
	if err != nil {
		return nil, err
	}
	second, err := secretKeys(p.is)
	if err != nil || len(first) != len(second) {
		return nil, errors.New("its keys are made up")
	}
	s := &secretObject{name: p.was.name(), kind: text(p.was.fields, "type")}
	s.metadata, _ = p.was.fields["metadata"].(map[string]any)
	s.namespace = text(s.metadata, "namespace")
	for _, key := range sortedKeys(first) {
		parts, others := split(first[key], m.first.drawn), split(second[key], m.second.drawn)
		same := slices.EqualFunc(parts, others, func(a, b textPart) bool {
			return a.text == b.text && a.number == b.number && (a.drawn == nil) == (b.drawn == nil)
		})
		switch {
		case !same:
			return nil, fmt.Errorf("how the key %s is made from what is random cannot be repeated outside of the chart", key)
		case !utf8.ValidString(first[key]):
			return nil, fmt.Errorf("the key %s is not text", key)
		}
		s.keys = append(s.keys, secretKey{key, parts})
	}
	return s, nil
}

func withoutData(fields map[string]any) map[string]any {
	rest := maps.Clone(fields)
	delete(rest, "data")
	delete(rest, "stringData")
	return rest
}

// split divides a text into those of the chart and drawn ones. Of drawn texts at one place, the longest counts.
func split(text string, all []drawn) []textPart {
	var parts []textPart
	for text != "" {
		at, best := len(text), -1
		for i, d := range all {
			if len(d.text) < leastDrawn {
				continue
			}
			found := strings.Index(text, d.text)
			if found >= 0 && (found < at || found == at && best >= 0 && len(d.text) > len(all[best].text)) {
				at, best = found, i
			}
		}
		if at > 0 {
			parts = append(parts, textPart{text: text[:at]})
		}
		if best < 0 {
			break
		}
		parts = append(parts, textPart{drawn: &all[best], number: best})
		text = text[at+len(all[best].text):]
	}
	return parts
}

// objects returns the objects that make a Secret in the cluster.
func (m *maker) objects(s *secretObject, from app.SecretSource) ([]map[string]any, error) {
	switch from {
	case app.FromExternalSecrets:
		return m.externalSecret(s)
	case app.FromCertManager:
		return m.issued(s)
	default:
		return nil, errors.New("not known")
	}
}

// labelled returns metadata with a name, and the namespace and labels of a Secret.
func (s *secretObject) labelled(name string) map[string]any {
	metadata := map[string]any{"name": name}
	if s.namespace != "" {
		metadata["namespace"] = s.namespace
	}
	if labels := s.metadata["labels"]; labels != nil {
		metadata["labels"] = labels
	}
	return metadata
}

// externalSecret returns an ExternalSecret that makes the Secret once, with a generator for each random value.
func (m *maker) externalSecret(s *secretObject) ([]map[string]any, error) {
	data := map[string]any{}
	numbers := map[int]int{}
	var generators []map[string]any
	var sources []any
	for _, k := range s.keys {
		var b strings.Builder
		for _, part := range k.parts {
			if part.drawn == nil {
				b.WriteString(literal(part.text))
				continue
			}
			if m.shared[part.drawn.text] {
				return nil, fmt.Errorf("the value of the key %s is in another Secret, too", k.name)
			}
			if _, known := numbers[part.number]; !known {
				spec, kind, err := generator(*part.drawn)
				if err != nil {
					return nil, fmt.Errorf("the key %s: %w", k.name, err)
				}
				n := len(numbers) + 1
				numbers[part.number] = n
				name := fmt.Sprintf("%s-%d", s.name, n)
				generators = append(generators, map[string]any{
					"apiVersion": "generators.external-secrets.io/v1alpha1", "kind": kind, "metadata": s.labelled(name), "spec": spec,
				})
				sources = append(sources, map[string]any{
					"sourceRef": map[string]any{"generatorRef": map[string]any{"apiVersion": "generators.external-secrets.io/v1alpha1", "kind": kind, "name": name}},
					"rewrite":   []any{map[string]any{"regexp": map[string]any{"source": ".*", "target": fmt.Sprintf("value%d", n)}}},
				})
			}
			fmt.Fprintf(&b, "{{ .value%d }}", numbers[part.number])
		}
		data[k.name] = b.String()
	}
	template := map[string]any{"data": data}
	if s.kind != "" {
		template["type"] = s.kind
	}
	metadata := map[string]any{}
	for _, field := range []string{"labels", "annotations"} {
		if s.metadata[field] != nil {
			metadata[field] = s.metadata[field]
		}
	}
	if len(metadata) > 0 {
		template["metadata"] = metadata
	}
	return append(generators, map[string]any{
		"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "metadata": s.labelled(s.name),
		"spec": map[string]any{
			"refreshPolicy": "CreatedOnce", "refreshInterval": "0",
			"target":   map[string]any{"name": s.name, "creationPolicy": "Orphan", "template": template},
			"dataFrom": sources,
		},
	}), nil
}

// literal returns a template that prints a text.
func literal(text string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	return strings.ReplaceAll(text, "{{", "{{ `{{` }}")
}

// generator returns the specification of a generator of External Secrets for what a function makes.
func generator(d drawn) (spec map[string]any, kind string, err error) {
	password := func(digits, symbols int) (map[string]any, string, error) {
		return map[string]any{"length": len(d.text), "digits": digits, "symbols": symbols, "noUpper": false, "allowRepeat": true}, "Password", nil
	}
	switch d.function {
	case "randAlphaNum":
		return password(len(d.text)/4, 0)
	case "randAscii":
		return password(len(d.text)/4, len(d.text)/4)
	case "randAlpha":
		return password(0, 0)
	case "randNumeric":
		return password(len(d.text), 0)
	case "uuidv4":
		return map[string]any{}, "UUID", nil
	}
	return nil, "", fmt.Errorf("no generator makes what %s makes", d.function)
}

// issued returns the objects of cert-manager for a Secret with a certificate.
func (m *maker) issued(s *secretObject) ([]map[string]any, error) {
	crt, err := s.certificate()
	if err != nil {
		return nil, err
	}
	certificate := func(name, secret, issuer string, of signed, authority bool) map[string]any {
		spec := map[string]any{
			"secretName": secret, "commonName": of.name, "issuerRef": map[string]any{"kind": "Issuer", "name": issuer},
			"privateKey": map[string]any{"rotationPolicy": "Always"},
		}
		if of.name == "" || len(of.name) > 64 {
			delete(spec, "commonName")
		}
		if of.days > 0 {
			spec["duration"] = fmt.Sprintf("%dh", of.days*24)
		}
		if authority {
			spec["isCA"] = true
		}
		for field, list := range map[string][]any{"dnsNames": of.names, "ipAddresses": of.ips} {
			if len(list) > 0 {
				spec[field] = list
			}
		}
		return map[string]any{"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": s.labelled(name), "spec": spec}
	}
	issuer := func(name string, spec map[string]any) map[string]any {
		return map[string]any{"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": s.labelled(name), "spec": spec}
	}
	selfSigned := s.name + "-selfsigned"
	objects := []map[string]any{issuer(selfSigned, map[string]any{"selfSigned": map[string]any{}})}
	if crt.by == "" {
		return append(objects, certificate(s.name, s.name, selfSigned, crt, crt.function == "genCA")), nil
	}
	ca := m.authority(crt.by)
	if ca == nil {
		return nil, errors.New("its authority is not made by the chart")
	}
	return append(objects,
		certificate(s.name+"-ca", s.name+"-ca", selfSigned, *ca, true),
		issuer(s.name, map[string]any{"ca": map[string]any{"secretName": s.name + "-ca"}}),
		certificate(s.name, s.name, s.name, crt, false)), nil
}

// authority returns the certificate that was drawn with a text.
func (m *maker) authority(text string) *signed {
	for _, d := range m.first.drawn {
		if d.signed != nil && !d.signed.key && strings.Contains(text, d.text) {
			return d.signed
		}
	}
	return nil
}

// certificate returns the certificate of a Secret with exactly the keys that cert-manager writes.
func (s *secretObject) certificate() (crt signed, err error) {
	if len(s.keys) == 0 {
		return crt, errors.New("it has no keys")
	}
	found := false
	for _, k := range s.keys {
		var of *signed
		for _, part := range k.parts {
			if part.drawn != nil {
				of = part.drawn.signed
			} else if text := strings.TrimSpace(part.text); !strings.HasPrefix(text, "-----") {
				return crt, fmt.Errorf("the key %s is not only a certificate", k.name)
			}
		}
		switch {
		case of == nil:
			return crt, fmt.Errorf("the key %s is not a certificate", k.name)
		case k.name == "tls.crt" && !of.key:
			crt, found = *of, true
		case k.name == "tls.key" && of.key, k.name == "ca.crt" && !of.key:
		default:
			return crt, fmt.Errorf("the key %s is not one that cert-manager writes: tls.crt, tls.key, ca.crt", k.name)
		}
	}
	if !found {
		return crt, errors.New("it has no key tls.crt")
	}
	return crt, nil
}

// injecting are the kinds of objects into which cert-manager writes the certificate of an authority.
var injecting = []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "APIService", "CustomResourceDefinition"}

// injected returns a function that makes the document without certificates of authorities, which cert-manager
// writes into it. ok is false if the document differs in more.
func injected(p pair) (_ func(from string) document, ok bool) {
	if !slices.Contains(injecting, p.was.kind()) {
		return nil, false
	}
	was, _ := withoutBundles(p.was.fields).(map[string]any)
	if !reflect.DeepEqual(was, withoutBundles(p.is.fields)) {
		return nil, false
	}
	return func(from string) document {
		metadata, _ := was["metadata"].(map[string]any)
		metadata = maps.Clone(metadata)
		annotations, _ := metadata["annotations"].(map[string]any)
		if annotations = maps.Clone(annotations); annotations == nil {
			annotations = map[string]any{}
		}
		annotations["cert-manager.io/inject-ca-from"] = from
		metadata["annotations"], was["metadata"] = annotations, metadata
		text, _ := yaml.Marshal(was) // it came from YAML
		return document{source: p.was.source, text: string(text), fields: was}
	}, true
}

// withoutBundles returns a copy of a value without fields caBundle.
func withoutBundles(v any) any {
	switch v := v.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, value := range v {
			if key != "caBundle" {
				kept[key] = withoutBundles(value)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i, value := range v {
			kept[i] = withoutBundles(value)
		}
		return kept
	}
	return v
}

// authorities returns the Secret whose certificate has the authority of a document's bundles; nil if there is none.
func (m *maker) authorities(p pair) *secretObject {
	text := p.was.text
	for _, secret := range m.secrets {
		crt, err := secret.certificate()
		if err != nil {
			continue
		}
		for _, d := range m.first.drawn {
			of := d.signed
			if of == nil || of.key || !strings.Contains(crt.by, d.text) && !slices.ContainsFunc(secret.keys, func(k secretKey) bool {
				return slices.ContainsFunc(k.parts, func(part textPart) bool { return part.drawn != nil && part.drawn.text == d.text })
			}) {
				continue
			}
			if strings.Contains(text, bundle(d.text)) {
				return secret
			}
		}
	}
	return nil
}

// bundle is how a certificate with a text is written as caBundle.
func bundle(text string) string {
	return base64.StdEncoding.EncodeToString([]byte("-----BEGIN CERTIFICATE-----\n" + text + "\n-----END CERTIFICATE-----\n"))
}

// written returns objects as documents.
func written(source string, objects []map[string]any) ([]document, error) {
	documents := make([]document, len(objects))
	for i, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("write the objects of a Secret: %w", err)
		}
		if documents[i], err = read(source, strings.TrimSpace(string(text))); err != nil {
			return nil, err
		}
	}
	return documents, nil
}
