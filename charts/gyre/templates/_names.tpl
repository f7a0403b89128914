{{/* The name of the application, for the label app.kubernetes.io/name. */}}
{{- define "gyre.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of the objects. As is usual in charts, a release with the name of the application does not repeat it. */}}
{{- define "gyre.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The deployment's name in the configuration. It is a DNS label, but a release may have dots in its name. */}}
{{- define "gyre.deployment" -}}
{{- (.Values.config).name | default (include "gyre.fullname" . | replace "." "-") -}}
{{- end -}}

{{/* The name of a Service has at most 63 characters. */}}
{{- define "gyre.service" -}}
{{- printf "%s-metrics" (include "gyre.fullname" . | replace "." "-" | trunc 55 | trimSuffix "-") -}}
{{- end -}}

{{- define "gyre.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "gyre.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "gyre.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion | toString -}}
{{- printf "%s%s%s" .Values.image.repository (ternary "@" ":" (hasPrefix "sha256:" $tag)) $tag -}}
{{- end -}}

{{- define "gyre.selectorLabels" -}}
app.kubernetes.io/name: {{ include "gyre.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "gyre.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "gyre.selectorLabels" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | toString | replace "+" "_" | replace ":" "_" | replace "@" "_" | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* Name, namespace and labels of an object of the release. Takes a list: the root, the name. */}}
{{- define "gyre.metadata" -}}
{{- $root := index . 0 -}}
name: {{ index . 1 }}
namespace: {{ $root.Release.Namespace }}
labels:
  {{- include "gyre.labels" $root | nindent 2 }}
{{- end -}}

{{/* A probe of the host. Takes a list: the root, the path, the timing. */}}
{{- define "gyre.probe" -}}
httpGet:
  path: {{ index . 1 }}
  port: admin
  {{- if (index . 0).Values.monitoring.secure.enabled }}
  scheme: HTTPS
  {{- end }}
{{- with index . 2 }}
{{ toYaml . }}
{{- end }}
{{- end -}}
