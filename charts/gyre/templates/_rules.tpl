{{/* What `gyre rbac` prints for the plugins that the image brings, by their files. */}}
{{- define "gyre.builtinRules" -}}
/plugins/echo.wasm:
  - apiGroups: [mmontes.io]
    resources: [echos]
    verbs: [get, list, watch]
  - apiGroups: [mmontes.io]
    resources: [echos/status]
    verbs: [patch]
  - apiGroups: [mmontes.io]
    resources: [echos/finalizers]
    verbs: [update]
  - apiGroups: [batch]
    resources: [jobs]
    verbs: [get, list, watch, create, patch, delete]
/plugins/scheduled_echo.wasm:
  - apiGroups: [mmontes.io]
    resources: [scheduledechos]
    verbs: [get, list, watch]
  - apiGroups: [mmontes.io]
    resources: [scheduledechos/status]
    verbs: [patch]
  - apiGroups: [mmontes.io]
    resources: [scheduledechos/finalizers]
    verbs: [update]
  - apiGroups: [batch]
    resources: [cronjobs]
    verbs: [get, list, watch, create, patch, delete]
{{- end -}}

{{/* What the host does where the objects are. */}}
{{- define "gyre.rules" -}}
{{- $builtin := include "gyre.builtinRules" . | fromYaml -}}
{{- $rules := list (dict "apiGroups" (list "events.k8s.io") "resources" (list "events") "verbs" (list "create" "patch")) -}}
{{- range $plugin, $its := $builtin -}}
{{- range $mount := ($.Values.config).mounts -}}
{{- if eq $mount.plugin $plugin -}}{{- $rules = concat $rules $its -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- range .Values.plugins -}}{{- $rules = concat $rules (.rules | default list) -}}{{- end -}}
{{- $rules = concat $rules .Values.rbac.extraRules -}}
{{- toYaml (uniq $rules) -}}
{{- end -}}

{{/* What it does in its own namespace: whose turn it is to write, and what is mounted. */}}
{{- define "gyre.ownRules" -}}
{{- if .Values.ha.enabled }}
{{- if eq .Values.ha.leaderElection.scope "mount" }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, list, watch, create, update]
{{- else }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "gyre.fullname" . }}]
  verbs: [get, update]
{{- end }}
{{- end }}
- apiGroups: [""]
  resources: [configmaps]
  verbs: [create]
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [{{ include "gyre.deployment" . }}-inventory]
  verbs: [get, update]
{{- end -}}

{{/* The namespaces in which Roles are made, as a JSON list. */}}
{{- define "gyre.roleNamespaces" -}}
{{- $namespaces := .Values.namespaces -}}
{{- range $mount := (include "gyre.config" . | fromYaml).mounts -}}
{{- $namespaces = concat $namespaces ($mount.namespaces | default list) -}}
{{- end -}}
{{- if not $namespaces -}}
{{- fail "rbac.namespaced: there are no namespaces to make Roles in; give namespaces" -}}
{{- end -}}
{{- uniq $namespaces | sortAlpha | toJson -}}
{{- end -}}
