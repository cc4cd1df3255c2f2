package rendering

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// BenchmarkHundredTargets takes a new image to 100 targets of a chart with 20 manifests: by Kalypso, which also compares
// every object with what is published and checks it, and by the helm command for each target, one after the other and two
// at a time. All take turns, so that whatever else the machine does slows them alike.
func BenchmarkHundredTargets(b *testing.B) {
	c := newContest(b)
	var kalypso, helm, helms cost
	for b.Loop() {
		kalypso.add(b, c.plan)
		helm.add(b, c.templates(1))
		helms.add(b, c.templates(2))
	}
	b.ReportMetric(0, "ns/op") // the sum of all says nothing
	kalypso.report(b, "kalypso")
	helm.report(b, "helm")
	helms.report(b, "helm-by-two")
	b.ReportMetric(helm.passed.Seconds()/kalypso.passed.Seconds(), "times-faster")
	b.ReportMetric(helm.processor.Seconds()/kalypso.processor.Seconds(), "times-less-processor")
}

// cost is what something took, all times together: the time that passed, and that of the processors.
type cost struct{ passed, processor time.Duration }

func (c *cost) add(b *testing.B, run func(context.Context) (time.Duration, error)) {
	b.Helper()
	began := time.Now()
	processor, err := run(b.Context())
	must(b, err)
	c.passed += time.Since(began)
	c.processor += processor
}

func (c *cost) report(b *testing.B, name string) {
	b.ReportMetric(c.passed.Seconds()/float64(b.N), name+"-s")
	b.ReportMetric(c.processor.Seconds()/float64(b.N), name+"-processor-s")
}

// contest is an application of which one image is published, and both programs.
type contest struct {
	application
	kalypso *harness.Kalypso
	helm    *helm
}

// The image that is published, and the one that is new.
const oldTag, newTag = "1.4.0", "1.5.0"

func newContest(b *testing.B) *contest {
	b.Helper()
	lab, err := harness.NewLab()
	must(b, err)
	b.Cleanup(func() { must(b, lab.Close(false)) })
	c := &contest{application: newApplication(b)}
	c.kalypso, err = harness.BuildKalypso(b.Context(), lab, filepath.Join("..", ".."))
	must(b, err)
	c.helm = buildHelm(b)
	_, err = c.run(b.Context(), "render", oldTag, "--out", c.published)
	must(b, err)
	c.wantTheSame(b)
	return c
}

// plan has Kalypso find out what the new image changes.
func (c *contest) plan(ctx context.Context) (time.Duration, error) {
	result, err := c.run(ctx, "plan", newTag, "--gitops", c.published)
	if want := fmt.Sprintf("0 added, %d changed, 0 removed, 0 held, 0 unchanged", targets); err == nil && !strings.Contains(result.Stdout, want) {
		err = fmt.Errorf("want %q in\n%s", want, result.Stdout)
	}
	return result.Processor, err
}

// run runs a command of Kalypso on the application.
func (c *contest) run(ctx context.Context, command, tag string, args ...string) (harness.Result, error) {
	args = append([]string{"app", command, "-e", "dev", "--source", c.source, "--config", c.config, "--version", tag, "--image-tag", tag}, args...)
	result, err := c.kalypso.Run(ctx, args...)
	if err == nil && result.Code != 0 {
		err = fmt.Errorf("kalypso %s ended with %d\n%s%s", strings.Join(args, " "), result.Code, result.Stdout, result.Stderr)
	}
	return result, err
}

// templates renders all targets with the helm command, some at a time.
func (c *contest) templates(atOnce int) func(context.Context) (time.Duration, error) {
	return func(ctx context.Context) (time.Duration, error) {
		return c.helm.all(ctx, c.application, newTag, atOnce)
	}
}

// wantTheSame wants both programs to make the same objects: else they did not do the same work.
func (c *contest) wantTheSame(b *testing.B) {
	b.Helper()
	for _, i := range []int{0, targets - 1} {
		theirs, _, err := c.helm.template(b.Context(), c.application, target(i), oldTag)
		must(b, err)
		ours, err := os.ReadFile(filepath.Join(c.published, target(i), "manifests.yaml"))
		must(b, err)
		got := objects(b, ours)
		if diff := cmp.Diff(got, objects(b, theirs)); diff != "" || len(got) != manifests {
			b.Fatalf("%s has %d objects; what Kalypso makes (-) and helm makes (+):\n%s", target(i), len(got), diff)
		}
	}
}

// objects are those of a text, by name.
func objects(b *testing.B, text []byte) map[string]*unstructured.Unstructured {
	b.Helper()
	list, err := harness.Documents(string(text))
	must(b, err)
	byName := map[string]*unstructured.Unstructured{}
	for _, o := range list {
		byName[o.GetName()] = o
	}
	return byName
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
