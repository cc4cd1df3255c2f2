package deliver

import (
	"maps"
	"slices"
	"strings"
)

// podSpec is the part of a pod that says which ConfigMaps and Secrets it reads.
type podSpec struct {
	Volumes        []podVolume    `yaml:"volumes"`
	InitContainers []podContainer `yaml:"initContainers"`
	Containers     []podContainer `yaml:"containers"`
}

type podVolume struct {
	volumeSources `yaml:",inline"`
	Name          string `yaml:"name"`
	Projected     struct {
		Sources []volumeSources `yaml:"sources"`
	} `yaml:"projected"`
}

type volumeSources struct {
	ConfigMap *volumeSource `yaml:"configMap"`
	Secret    *volumeSource `yaml:"secret"`
}

type volumeSource struct {
	Name       string `yaml:"name"`
	SecretName string `yaml:"secretName"` // of a volume, not of a projected one
	Items      []struct {
		Key  string `yaml:"key"`
		Path string `yaml:"path"`
	} `yaml:"items"`
}

type keyRef struct {
	Name string `yaml:"name"`
	Key  string `yaml:"key"`
}

type podContainer struct {
	RestartPolicy string `yaml:"restartPolicy"`
	Env           []struct {
		ValueFrom struct {
			ConfigMap *keyRef `yaml:"configMapKeyRef"`
			Secret    *keyRef `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	} `yaml:"env"`
	EnvFrom []struct {
		ConfigMap *keyRef `yaml:"configMapRef"`
		Secret    *keyRef `yaml:"secretRef"`
	} `yaml:"envFrom"`
	VolumeMounts []struct {
		Name        string `yaml:"name"`
		SubPath     string `yaml:"subPath"`
		SubPathExpr string `yaml:"subPathExpr"`
	} `yaml:"volumeMounts"`
}

// reads returns how the containers of a pod get the changed data: by files that the kubelet updates, or when they start.
func (p podSpec) reads(c configData) []ReaderEffect {
	changed := map[string][]string{} // the paths in each volume whose content changes
	for _, v := range p.Volumes {
		for _, s := range append(v.Projected.Sources, v.volumeSources) {
			changed[v.Name] = append(changed[v.Name], s.changed(c)...)
		}
	}
	var files, atStart bool
	for i, container := range append(slices.Clone(p.InitContainers), p.Containers...) {
		if container.environment(c) {
			atStart = true
		}
		once := i < len(p.InitContainers) && container.RestartPolicy != "Always" // otherwise it is a sidecar, which goes on running
		for _, m := range container.VolumeMounts {
			switch paths := changed[m.Name]; {
			case len(paths) == 0:
			case m.SubPath != "":
				below := func(path string) bool { return path == m.SubPath || strings.HasPrefix(path, m.SubPath+"/") }
				atStart = atStart || slices.ContainsFunc(paths, below)
			case once, m.SubPathExpr != "":
				atStart = true
			default:
				files = true
			}
		}
	}
	var effects []ReaderEffect
	if atStart {
		effects = append(effects, NextRestart)
	}
	if files {
		effects = append(effects, RereadsFiles)
	}
	return effects
}

// changed returns the paths of a volume whose content is changed data.
func (s volumeSources) changed(c configData) []string {
	from, name := s.ConfigMap, ""
	if c.Kind == "Secret" {
		from = s.Secret
	}
	if from == nil {
		return nil
	}
	if name = from.Name; c.Kind == "Secret" && from.SecretName != "" {
		name = from.SecretName
	}
	if name != c.Name {
		return nil
	}
	if len(from.Items) == 0 {
		return slices.Sorted(maps.Keys(c.keys))
	}
	var paths []string
	for _, item := range from.Items {
		if c.keys[item.Key] {
			paths = append(paths, item.Path)
		}
	}
	return paths
}

// environment reports whether the environment of a container has changed data.
func (p podContainer) environment(c configData) bool {
	is := func(configMap, secret *keyRef, keys map[string]bool) bool {
		ref := configMap
		if c.Kind == "Secret" {
			ref = secret
		}
		return ref != nil && ref.Name == c.Name && (keys == nil || keys[ref.Key])
	}
	for _, e := range p.Env {
		if is(e.ValueFrom.ConfigMap, e.ValueFrom.Secret, c.keys) {
			return true
		}
	}
	for _, e := range p.EnvFrom {
		if is(e.ConfigMap, e.Secret, nil) {
			return true
		}
	}
	return false
}
