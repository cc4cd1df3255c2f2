{{- /* The labels of all objects of a component. Takes a list: the root, and the component. */ -}}
{{- define "kalypso.labels" -}}
{{- $root := index . 0 -}}
{{ include "kalypso.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "kalypso.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "kalypso.chart" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "kalypso.chart" -}}{{ .Values.nameOverride | default "kalypso" }}{{- end -}}

{{- /* The name of a component's objects. It leaves room for suffixes. */ -}}
{{- define "kalypso.name" -}}
{{- $root := index . 0 -}}
{{- $chart := include "kalypso.chart" $root -}}
{{- $name := ternary $root.Release.Name (printf "%s-%s" $root.Release.Name $chart) (contains $chart $root.Release.Name) -}}
{{- $name = $root.Values.fullnameOverride | default $name -}}
{{- printf "%s%s" ($name | trunc 40 | trimSuffix "-") (index . 2) -}}
{{- end -}}

{{- define "kalypso.server" -}}{{ include "kalypso.name" (list . "server" "") }}{{- end -}}
{{- define "kalypso.agent" -}}{{ include "kalypso.name" (list . "agent" "-agent") }}{{- end -}}
{{- define "kalypso.operator" -}}{{ include "kalypso.name" (list . "operator" "-operator") }}{{- end -}}

{{- /* An image. Takes a list: the root, the name of the program, and its values. A tag cannot have a "+". */ -}}
{{- define "kalypso.image" -}}
{{- $root := index . 0 -}}{{- $name := index . 1 -}}{{- $image := index . 2 -}}
{{- $repository := printf "%s/%s" (trimSuffix "/" $root.Values.registry) $name -}}
{{- if $image.digest -}}{{ $repository }}@{{ $image.digest }}
{{- else -}}{{ $repository }}:{{ default $root.Chart.AppVersion $image.tag | replace "+" "-" }}
{{- end -}}
{{- end -}}

{{- /* The name of a component's service account. Takes a list: the name of its objects, and its values. */ -}}
{{- define "kalypso.account" -}}
{{- (index . 1).serviceAccount.name | default (index . 0) -}}
{{- end -}}

{{- /* A component's service account, unless it exists. Takes a list: the root, the name of its objects, its values, its labels. */ -}}
{{- define "kalypso.serviceAccount" -}}
{{- $root := index . 0 -}}{{- $values := index . 2 -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "kalypso.account" (list (index . 1) $values) }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- index . 3 | nindent 4 }}
  {{- with $values.serviceAccount.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- /* The labels of a component's pods. Takes a list: the labels of its objects, and its values. */ -}}
{{- define "kalypso.podLabels" -}}
{{- $labels := index . 0 -}}
{{- with (index . 1).podLabels -}}
{{ toYaml (mergeOverwrite (deepCopy .) (fromYaml $labels)) }}
{{- else -}}
{{ $labels }}
{{- end -}}
{{- end -}}

{{- define "kalypso.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "kalypso.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "kalypso.scheduling" -}}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .topologySpreadConstraints }}
topologySpreadConstraints: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- /* Whom pods may connect to: everybody, but not the address at which clouds give out credentials of a node. */ -}}
{{- define "kalypso.everybody" -}}
- ports:
  - {protocol: UDP, port: 53}
  - {protocol: TCP, port: 53}
- to:
  - ipBlock:
      cidr: 0.0.0.0/0
      except: [169.254.169.254/32]
  - ipBlock:
      cidr: "::/0"
      except: ["fd00:ec2::254/128"]
{{- end -}}
