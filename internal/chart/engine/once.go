package engine

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart/recipe"
)

// maxJobName is how much of a release's name is in that of its Job, which has room for a digest.
const maxJobName = 40

// once collects the Secrets that a Job makes in the cluster.
type once struct {
	recipe recipe.Recipe
	// numbers are those of the recipe, by the index of what was drawn. certificates are the numbers of certificates, by their text.
	numbers map[int]int
	chance  *chance
	image   string
	// source is the template of the first Secret, and first identifies its document.
	source, first string
}

// newOnce returns a collection without Secrets, of values that were drawn.
func newOnce(c *chance) *once {
	return &once{numbers: map[int]int{}, chance: c}
}

// add adds a Secret.
func (o *once) add(s *secretObject, entry app.ChartSecret) error {
	secret := recipe.Secret{Name: s.name, Type: s.kind, Rotation: entry.Rotation, Labels: texts(s.metadata["labels"]), Annotations: texts(s.metadata["annotations"])}
	for _, k := range s.keys {
		key := recipe.Key{Name: k.name}
		for _, p := range k.parts {
			if p.drawn == nil {
				key.Parts = append(key.Parts, recipe.Part{Text: p.text})
				continue
			}
			n, err := o.number(p.number)
			if err != nil {
				return fmt.Errorf("the key %s: %w", k.name, err)
			}
			key.Parts = append(key.Parts, recipe.Part{Draw: n})
		}
		secret.Keys = append(secret.Keys, key)
	}
	o.recipe.Secrets = append(o.recipe.Secrets, secret)
	return nil
}

// number returns the number of a draw in the recipe, after those that it is made from.
func (o *once) number(index int) (int, error) {
	if n, ok := o.numbers[index]; ok {
		return n, nil
	}
	d := o.chance.drawn[index]
	var made recipe.Draw
	var err error
	switch {
	case d.signed != nil && d.signed.key:
		at := o.index(d.signed.of)
		if at < 0 {
			return 0, errors.New("it is the key of a certificate that is not made by the chart")
		}
		made.Function = recipe.CertificateOf
		made.Of, err = o.number(at)
	case d.signed != nil:
		made, err = o.issue(d.signed)
	case d.function == string(recipe.Bcrypt):
		made, err = o.hash(d)
	default:
		made, err = simple(d)
	}
	if err != nil {
		return 0, err
	}
	o.recipe.Draws = append(o.recipe.Draws, made)
	o.numbers[index] = len(o.recipe.Draws)
	return o.numbers[index], nil
}

// index returns the index of a drawn text; -1 if it was not drawn.
func (o *once) index(text string) int {
	return slices.IndexFunc(o.chance.drawn, func(d drawn) bool { return text != "" && d.text == text })
}

// issue describes a certificate.
func (o *once) issue(s *signed) (recipe.Draw, error) {
	i := &recipe.Issue{CommonName: s.name, Days: s.days, Authority: s.function == "genCA"}
	for _, name := range s.names {
		i.DNSNames = append(i.DNSNames, fmt.Sprint(name))
	}
	for _, ip := range s.ips {
		i.IPs = append(i.IPs, fmt.Sprint(ip))
	}
	made := recipe.Draw{Function: recipe.Certificate, Certificate: i}
	if s.by == "" {
		return made, nil
	}
	at := slices.IndexFunc(o.chance.drawn, func(d drawn) bool { return d.signed != nil && !d.signed.key && strings.Contains(s.by, d.text) })
	if at < 0 {
		return made, errors.New("its authority is not made by the chart")
	}
	var err error
	i.By, err = o.number(at)
	return made, err
}

// hash describes a hash. What it is of has to be made up, too, since a text of the chart would be in Git.
func (o *once) hash(d drawn) (recipe.Draw, error) {
	at := o.index(d.of)
	if at < 0 {
		return recipe.Draw{}, errors.New("it is a hash of a text that the chart or its values have; hash it yourself, or use a Secret that is in the cluster")
	}
	of, err := o.number(at)
	return recipe.Draw{Function: recipe.Bcrypt, Of: of}, err
}

// simple describes a draw that is made from nothing else.
func simple(d drawn) (recipe.Draw, error) {
	made := recipe.Draw{Function: recipe.Function(d.function)}
	switch made.Function {
	case recipe.RandAlphaNum, recipe.RandAlpha, recipe.RandNumeric, recipe.RandASCII:
		made.Length = len(d.text)
	case recipe.RandBytes:
		decoded, err := base64.StdEncoding.DecodeString(d.text)
		if err != nil {
			return made, fmt.Errorf("read what %s made: %w", d.function, err)
		}
		made.Length = len(decoded)
	case recipe.UUID:
	case recipe.Time:
		made.Layout = d.layout
	case recipe.PrivateKey:
		switch made.Kind = d.layout; d.layout {
		case "rsa", "ecdsa", "ed25519":
		default:
			return made, fmt.Errorf("no Job makes private keys of the kind %q", d.layout)
		}
	default:
		return made, fmt.Errorf("no Job makes what %s makes", d.function)
	}
	return made, nil
}

// texts returns a map of texts.
func texts(value any) map[string]string {
	fields, _ := value.(map[string]any)
	if len(fields) == 0 {
		return nil
	}
	all := make(map[string]string, len(fields))
	for key, v := range fields {
		all[key] = fmt.Sprint(v)
	}
	return all
}

// objects returns the Job with its rights: to create Secrets in its namespace, and to read and change those of the recipe.
func (o *once) objects(release, namespace string) ([]map[string]any, error) {
	text, err := o.recipe.Encode()
	if err != nil {
		return nil, err
	}
	base := strings.TrimRight(release[:min(len(release), maxJobName)], "-.") + "-secrets"
	var names []any
	for _, s := range o.recipe.Secrets {
		names = append(names, s.Name)
	}
	labels := map[string]any{"app.kubernetes.io/component": "secrets", "app.kubernetes.io/instance": release}
	object := func(api, kind, name string, fields map[string]any) map[string]any {
		fields["apiVersion"], fields["kind"] = api, kind
		fields["metadata"] = map[string]any{
			"name": name, "labels": labels,
			// Argo CD applies them first, and waits for the Job.
			"annotations": map[string]any{"argocd.argoproj.io/sync-wave": "-1"},
		}
		return fields
	}
	const rbac = "rbac.authorization.k8s.io/v1"
	return []map[string]any{
		object("v1", "ServiceAccount", base, map[string]any{}),
		object(rbac, "Role", base, map[string]any{"rules": []any{
			map[string]any{"apiGroups": []any{""}, "resources": []any{"secrets"}, "resourceNames": names, "verbs": []any{"get", "update"}},
			map[string]any{"apiGroups": []any{""}, "resources": []any{"secrets"}, "verbs": []any{"create"}},
		}}),
		object(rbac, "RoleBinding", base, map[string]any{
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": base},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": base, "namespace": namespace}},
		}),
		object("batch/v1", "Job", base+"-"+o.recipe.Digest(o.image), map[string]any{"spec": o.job(base, text, labels)}),
	}, nil
}

// job returns the specification of the Job. Its pod fulfills the restricted pod security standard.
func (o *once) job(account, text string, labels map[string]any) map[string]any {
	return map[string]any{
		"backoffLimit": 6,
		"template": map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec": map[string]any{
				"serviceAccountName": account, "restartPolicy": "OnFailure",
				"securityContext": map[string]any{"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": map[string]any{"type": "RuntimeDefault"}},
				"containers": []any{map[string]any{
					"name": "secrets", "image": o.image, "args": []any{"make-secrets", "--recipe", text},
					"resources": map[string]any{
						"requests": map[string]any{"cpu": "10m", "memory": "32Mi"}, "limits": map[string]any{"memory": "128Mi"},
					},
					"securityContext": map[string]any{
						"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": map[string]any{"drop": []any{"ALL"}},
					},
				}},
			},
		},
	}
}
