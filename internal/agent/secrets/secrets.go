package secrets

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kalypso-io/kalypso/internal/chart/recipe"
)

const (
	// rotationAnnotation has the rotation of a Secret's values, and madeAnnotation tells that a recipe made the Secret.
	rotationAnnotation = "kalypso.io/rotation"
	madeAnnotation     = "kalypso.io/made"
	// attempts bounds how often a round begins again, because another program wrote a Secret meanwhile.
	attempts = 5
)

var resource = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// Maker makes Secrets in a namespace.
type Maker struct {
	Client    dynamic.Interface // required
	Namespace string            // required
	Log       *slog.Logger      // required
}

// Connect returns a maker for a namespace of a cluster. It sends no requests.
func Connect(config *rest.Config, namespace string, log *slog.Logger) (*Maker, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return &Maker{Client: client, Namespace: namespace, Log: log}, nil
}

// Make creates the Secrets of a recipe that do not exist, adds keys that they lack, and makes the values of rotated ones again.
func (m *Maker) Make(ctx context.Context, r *recipe.Recipe) error {
	var err error
	for range attempts {
		if err = m.attempt(ctx, r); !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return err
}

func (m *Maker) attempt(ctx context.Context, r *recipe.Recipe) error {
	secrets := m.Client.Resource(resource).Namespace(m.Namespace)
	objects, found := map[string]*unstructured.Unstructured{}, map[string]recipe.Found{}
	for _, s := range r.Secrets {
		o, err := secrets.Get(ctx, s.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read the Secret %s: %w", s.Name, err)
		}
		if objects[s.Name] = o; o.GetDeletionTimestamp() != nil {
			return fmt.Errorf("the Secret %s is being deleted: the Job tries it again", s.Name)
		}
		if found[s.Name], err = read(o); err != nil {
			return fmt.Errorf("read the Secret %s: %w", s.Name, err)
		}
	}
	written, err := r.Make(found, rand.Reader, time.Now())
	if err != nil {
		return err
	}
	changed := map[string]bool{}
	for _, w := range written {
		changed[w.Secret.Name] = true
		if err := m.write(ctx, secrets, objects[w.Secret.Name], w); err != nil {
			return err
		}
	}
	for _, s := range r.Secrets {
		if !changed[s.Name] {
			m.Log.Info("kept a Secret", "namespace", m.Namespace, "name", s.Name)
		}
	}
	return nil
}

// write creates or updates a Secret.
func (m *Maker) write(ctx context.Context, secrets dynamic.ResourceInterface, o *unstructured.Unstructured, w recipe.Written) error {
	var err error
	if o == nil {
		o = object(w)
		_, err = secrets.Create(ctx, o, metav1.CreateOptions{FieldManager: "kalypso"})
	} else {
		o = o.DeepCopy()
		fill(o, w)
		_, err = secrets.Update(ctx, o, metav1.UpdateOptions{FieldManager: "kalypso"})
	}
	if err != nil {
		return refused(w.Secret.Name, err)
	}
	switch {
	case w.New:
		m.Log.Info("created a Secret", "namespace", m.Namespace, "name", w.Secret.Name)
	case len(w.Made) > 0:
		m.Log.Info("wrote keys of a Secret", "namespace", m.Namespace, "name", w.Secret.Name, "keys", w.Made, "rotation", w.Secret.Rotation)
	default:
		m.Log.Info("kept a Secret that was there", "namespace", m.Namespace, "name", w.Secret.Name)
	}
	return nil
}

// refused hides the values, which the message of an API server can quote.
func refused(name string, err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsForbidden(err) && strings.Contains(err.Error(), `" cannot `) { // by its roles
		return fmt.Errorf("write the Secret %s: %w", name, err)
	}
	reason := apierrors.ReasonForError(err)
	if reason == metav1.StatusReasonUnknown {
		return fmt.Errorf("write the Secret %s: the API server did not accept it, or did not answer", name)
	}
	return fmt.Errorf("write the Secret %s: the API server answered %s", name, reason)
}

// read returns what a recipe needs to know of a Secret.
func read(o *unstructured.Unstructured) (recipe.Found, error) {
	f := recipe.Found{Data: map[string][]byte{}, Made: o.GetAnnotations()[madeAnnotation] != ""}
	data, _, err := unstructured.NestedStringMap(o.Object, "data")
	if err != nil {
		return f, errors.New("its data are not texts")
	}
	for key, value := range data {
		if f.Data[key], err = base64.StdEncoding.DecodeString(value); err != nil {
			return f, fmt.Errorf("its key %s is not encoded in base64", key)
		}
	}
	if text, ok := o.GetAnnotations()[rotationAnnotation]; ok {
		n, err := strconv.Atoi(text)
		if err != nil {
			return f, fmt.Errorf("its annotation %s is not a number", rotationAnnotation)
		}
		f.Rotation = &n
	}
	return f, nil
}

// object returns a new Secret.
func object(w recipe.Written) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
	o.SetName(w.Secret.Name)
	o.SetLabels(w.Secret.Labels)
	annotations := map[string]string{madeAnnotation: "true"}
	for key, value := range w.Secret.Annotations {
		annotations[key] = value
	}
	o.SetAnnotations(annotations)
	if w.Secret.Type != "" {
		o.Object["type"] = w.Secret.Type
	}
	fill(o, w)
	return o
}

// fill sets the data and the rotation of a Secret.
func fill(o *unstructured.Unstructured, w recipe.Written) {
	data := map[string]any{}
	for key, value := range w.Data {
		data[key] = base64.StdEncoding.EncodeToString(value)
	}
	o.Object["data"] = data
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[rotationAnnotation] = strconv.Itoa(w.Secret.Rotation)
	o.SetAnnotations(annotations)
}
