package harness

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// runJobs is the kubelet of the node "programs" for the Jobs in a namespace: it runs their containers as processes, one after the
// other, with the rights of their service account. Each container runs the same program, whatever its image, with the arguments
// after the first. Mounted volumes are folders whose names replace the mount paths in arguments.
func (c *Cluster) runJobs(ctx context.Context, lab *Lab, program, namespace string) {
	begun := map[types.UID]bool{}
	for ctx.Err() == nil {
		var watcher watch.Interface
		err := Until(ctx, startTime, func(context.Context) (err error) {
			watcher, err = c.client.Resource(Pods).Namespace(namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=programs"})
			return err
		})
		if err != nil {
			return // the API server is gone
		}
		for event := range watcher.ResultChan() {
			var pod corev1.Pod
			u, ok := event.Object.(*unstructured.Unstructured)
			if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &pod) != nil || begun[pod.UID] || pod.Status.Phase != corev1.PodPending {
				continue
			}
			begun[pod.UID] = true
			go func() {
				folder, err := lab.Folder(c.Name+"-jobs", pod.Name)
				if err == nil {
					err = (&job{cluster: c, program: program, pod: &pod, folder: folder}).run(ctx)
				}
				if err != nil && ctx.Err() == nil {
					fmt.Fprintf(os.Stderr, "run job %s on %s: %v\n", pod.Name, c.Name, err)
				}
			}()
		}
	}
}

// job is a pod that runs as processes.
type job struct {
	cluster *Cluster
	program string
	pod     *corev1.Pod
	folder  string
}

func (j *job) run(ctx context.Context) error {
	as, err := j.cluster.As(ctx, j.pod.Namespace, j.pod.Spec.ServiceAccountName)
	if err != nil {
		return err
	}
	status := corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &metav1.Time{Time: time.Now()}}
	if err := j.report(ctx, status); err != nil {
		return err
	}
	status.Phase = corev1.PodSucceeded
	for _, part := range []struct {
		containers []corev1.Container
		statuses   *[]corev1.ContainerStatus
	}{
		{j.pod.Spec.InitContainers, &status.InitContainerStatuses}, {j.pod.Spec.Containers, &status.ContainerStatuses},
	} {
		for _, container := range part.containers {
			ended := corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: metav1.Now()}
			if status.Phase == corev1.PodSucceeded {
				if ended.Message, ended.ExitCode, err = j.runContainer(ctx, container, as.kubeconfig); err != nil {
					return err
				}
			}
			if ended.ExitCode != 0 {
				status.Phase, ended.Reason = corev1.PodFailed, "Error"
			}
			ended.FinishedAt = metav1.Now()
			*part.statuses = append(*part.statuses, corev1.ContainerStatus{
				Name: container.Name, Image: container.Image, State: corev1.ContainerState{Terminated: &ended},
			})
		}
	}
	return j.report(ctx, status)
}

// runContainer runs a container to its end, and returns the end of its output, which the wrapper in Fleet's image writes to the
// file for termination messages.
func (j *job) runContainer(ctx context.Context, container corev1.Container, kubeconfig string) (message string, code int32, err error) {
	var mounts []string
	for _, mount := range container.VolumeMounts {
		folder, err := j.mount(ctx, mount.Name)
		if err != nil {
			return "", 0, err
		}
		mounts = append(mounts, mount.MountPath, folder)
	}
	local := strings.NewReplacer(mounts...)
	args := make([]string, 0, len(container.Args))
	for _, a := range container.Args[1:] {
		args = append(args, local.Replace(a))
	}
	cmd := exec.CommandContext(ctx, j.program, args...)
	cmd.Dir = j.folder
	if container.WorkingDir != "" {
		cmd.Dir = local.Replace(container.WorkingDir)
	}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + j.folder, "TMPDIR=" + j.folder, "KUBECONFIG=" + kubeconfig}
	for _, variable := range container.Env {
		if variable.ValueFrom == nil {
			cmd.Env = append(cmd.Env, variable.Name+"="+local.Replace(variable.Value))
		}
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		return "", 0, err
	}
	const most = 4096 // bytes of a termination message
	return string(out[max(0, len(out)-most):]), int32(cmd.ProcessState.ExitCode()), nil
}

// mount returns the folder of a volume of the pod.
func (j *job) mount(ctx context.Context, volume string) (string, error) {
	folder := filepath.Join(j.folder, volume)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	for _, v := range j.pod.Spec.Volumes {
		switch {
		case v.Name != volume:
		case v.ConfigMap != nil:
			return folder, j.write(ctx, ConfigMaps, v.ConfigMap.Name, folder)
		case v.Secret != nil:
			return folder, j.write(ctx, Secrets, v.Secret.SecretName, folder)
		}
	}
	return folder, nil
}

// write writes the data of an object to a folder.
func (j *job) write(ctx context.Context, kind schema.GroupVersionResource, name, folder string) error {
	o, err := j.cluster.Get(ctx, kind, j.pod.Namespace, name)
	if err != nil {
		return err
	}
	for _, field := range []string{"data", "binaryData"} {
		data, _, _ := unstructured.NestedStringMap(o.Object, field)
		for file, text := range data {
			content := []byte(text)
			if kind == Secrets || field == "binaryData" {
				if content, err = base64.StdEncoding.DecodeString(text); err != nil {
					return err
				}
			}
			if err := os.WriteFile(filepath.Join(folder, file), content, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// report writes the status of the pod.
func (j *job) report(ctx context.Context, status corev1.PodStatus) error {
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	_, err = j.cluster.client.Resource(Pods).Namespace(j.pod.Namespace).Patch(ctx, j.pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
