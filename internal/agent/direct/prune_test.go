package direct

import (
	"errors"
	"strings"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

const (
	rbacOfShop = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: deployer}\n---\n" +
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: deployer}\n"
	bindingOfShop = "/apis/rbac.authorization.k8s.io/v1/namespaces/dev-shop/rolebindings/deployer"
)

// newOwnRights returns a world with an application whose account has its rights from a binding of the application. The binding is created by hand first,
// and handed over.
func newOwnRights(t *testing.T) *world {
	w := newWorld(t)
	w.machine.edit(bindingOfShop, func(o map[string]any) {
		o["metadata"].(map[string]any)["annotations"] = map[string]any{AnnotationDelivery: shop}
	})
	w.machine.rights = bindingOfShop
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set(shop, "b", inNamespace(), rbacOfShop, configMap("one", "1"), configMap("two", "1"))
	return w
}

func TestAnApplicationThatRemovesItsOwnRightsIsRemoved(t *testing.T) {
	t.Parallel()
	w := newOwnRights(t)
	d, f := w.start()
	w.settle(d, f)
	w.wantObjects("dev-shop", "deployer", "deployer", "one", "two")
	w.drop(shop)
	w.settle(d, f)
	w.wantObjects("dev-shop")
}

func TestRightsStayUntilEverythingElseIsRemoved(t *testing.T) {
	t.Parallel()
	w := newOwnRights(t)
	d, f := w.start()
	w.settle(d, f)
	w.machine.before = func(method, path string) error {
		if method == "DELETE" && strings.HasSuffix(path, "/two") {
			return errors.New("a webhook refuses it")
		}
		return nil
	}
	w.drop(shop)
	w.settle(d, f)
	w.wantObjects("dev-shop", "deployer", "deployer", "two")
	w.wantReport(d, shop, hub.StateFailed, "bbb", "bbb", "cannot be removed: ConfigMap dev-shop/two: ")

	w.machine.before = nil
	w.settle(d, f)
	w.settle(d, f)
	w.wantObjects("dev-shop")
}

func TestWhatCannotBeRemovedDoesNotKeepAVersionFromRunning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := inNamespace()
	spec.Rollback = true
	dependent := inNamespace()
	dependent.DependsOn = []string{"dev-shop"}
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace)
	w.set(shop, "b", spec, configMap("one", "1"), configMap("two", "1"), configMap("three", "1"))
	w.set("dev-shop/dev-bank", "b", dependent, configMap("bank", "1"))
	d, f := w.start()
	w.settle(d, f)
	w.settle(d, f)

	w.machine.denied = map[string]bool{"two": true}
	w.set(shop, "c", spec, configMap("one", "2"))
	w.set("dev-shop/dev-bank", "d", dependent, configMap("more", "1"))
	w.settle(d, f)
	w.now = w.now.Add(4 * time.Minute) // longer than a version may take
	w.settle(d, nil)
	w.wantObjects("dev-shop", "one", "two", "more")
	w.wantReport(d, shop, hub.StateFailed, "ccc", "ccc",
		"everything was applied; not removed: ConfigMap dev-shop/two: cannot get two: give the service account the right to get and delete it, or remove it with kubectl")
	w.wantReport(d, "dev-shop/dev-bank", hub.StateReady, "ddd", "ddd", "")

	w.machine.denied = nil
	w.now = w.now.Add(pruneAgain)
	w.settle(d, nil)
	w.wantObjects("dev-shop", "one", "more")
	w.wantReport(d, shop, hub.StateReady, "ccc", "ccc", "")
}

// The platform goes on with what does not belong to the application that cannot be removed.
func TestAnApplicationThatCannotBeRemovedDoesNotBlockThePlatform(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(platform, "a", hub.DirectDeliverySpec{}, namespace, configMap("old", "1"), configMap("stays", "1"), rbacOfShop)
	w.set(shop, "b", inNamespace(), configMap("one", "1"))
	d, f := w.start()
	w.settle(d, f)
	w.machine.denied = map[string]bool{"one": true}
	w.drop(shop)
	w.set(platform, "c", hub.DirectDeliverySpec{}, configMap("stays", "1"))
	w.settle(d, f)
	w.wantObjects("dev-shop", "one", "stays", "deployer", "deployer")
	w.wantReport(d, shop, hub.StateFailed, "bbb", "bbb", "cannot be removed: ConfigMap dev-shop/one: cannot get one")

	w.machine.denied = nil
	w.settle(d, f)
	w.settle(d, f)
	w.wantObjects("stays")
	w.wantReport(d, platform, hub.StateReady, "ccc", "ccc", "")
}
