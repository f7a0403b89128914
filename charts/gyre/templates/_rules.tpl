{{/* The rules of the plugins that the image brings, by their files: what the host reads where their objects are, what besides if that is everywhere, and what whoever writes for them does. */}}
{{- define "gyre.builtin" -}}
{{- .Files.Get "files/rules.json" -}}
{{- end -}}

{{/* Adds rules to those of an account in a namespace. Takes a list: all of them, the account (none: the host's), the namespace (none: everywhere), the rules. */}}
{{- define "gyre.grant" -}}
{{- $key := printf "%s|%s" (index . 1) (index . 2) -}}
{{- $_ := set (index . 0) $key (concat (get (index . 0) $key | default list) (index . 3) | uniq) -}}
{{- end -}}

{{/* Where a mount's objects are, as a JSON list; everywhere is "". Takes a list: the root, the defaults, the mount. */}}
{{- define "gyre.places" -}}
{{- $root := index . 0 -}}{{- $mount := index . 2 -}}
{{- $places := list "" -}}
{{- if $root.Values.rbac.namespaced -}}
{{- $places = $mount.namespaces | default (index . 1).namespaces -}}
{{- if not $places -}}
{{- fail (printf "rbac.namespaced: %s is mounted in all namespaces; give it, or all, namespaces" $mount.plugin) -}}
{{- end -}}
{{- end -}}
{{- $places | toJson -}}
{{- end -}}

{{/* All rules, by account and namespace, as JSON: what `gyre rbac` prints of plugins that the image brings, and what the values say of others. */}}
{{- define "gyre.rules" -}}
{{- $root := . -}}
{{- $all := dict -}}
{{- $config := include "gyre.config" . | fromYaml -}}
{{- $defaults := $config.defaults | default dict -}}
{{- $builtin := include "gyre.builtin" . | fromJson -}}
{{- $everyPlace := list -}}
{{- range $mount := $config.mounts | default list -}}
{{- range $place := include "gyre.places" (list $root $defaults $mount) | fromJsonArray -}}
{{- $everyPlace = append $everyPlace $place | uniq -}}
{{- with get $builtin $mount.plugin -}}
{{- $writer := $mount.impersonate | default "" -}}
{{- include "gyre.grant" (list $all "" $place .reads) -}}
{{- if not ($mount.namespaces | default $defaults.namespaces) -}}
{{- include "gyre.grant" (list $all "" "" .readsEverywhere) -}}
{{- end -}}
{{- include "gyre.grant" (list $all $writer $place .writes) -}}
{{- end -}}
{{- end -}}
{{- with $mount.impersonate -}}
{{- $account := splitList "/" . -}}
{{- $rule := dict "apiGroups" (list "") "resources" (list "serviceaccounts") "resourceNames" (list (last $account)) "verbs" (list "impersonate") -}}
{{- include "gyre.grant" (list $all "" (first $account) (list $rule)) -}}
{{- end -}}
{{- end -}}
{{- if not $everyPlace -}}
{{- $everyPlace = include "gyre.places" (list $root $defaults (dict "plugin" $config.pluginDirectory)) | fromJsonArray -}}
{{- end -}}
{{- range $plugin := .Values.plugins -}}
{{- $places := list -}}
{{- range $mount := $plugin.mounts | default (list dict) -}}
{{- $places = concat $places (include "gyre.places" (list $root $defaults (merge (dict "plugin" $plugin.name) $mount)) | fromJsonArray) -}}
{{- end -}}
{{- if and (hasKey $plugin "mounts") (not $plugin.mounts) -}}{{- $places = $everyPlace -}}{{- end -}}
{{- range $place := uniq $places -}}
{{- include "gyre.grant" (list $all "" $place ($plugin.rules | default list)) -}}
{{- end -}}
{{- end -}}
{{- range $place := $everyPlace -}}
{{- include "gyre.grant" (list $all "" $place $root.Values.rbac.extraRules) -}}
{{- end -}}
{{- if .Values.monitoring.secure.enabled -}}
{{- if .Values.rbac.namespaced -}}
{{- fail "monitoring.secure: who may see the metrics is asked with a ClusterRole, and rbac.namespaced has none" -}}
{{- end -}}
{{- $tokens := dict "apiGroups" (list "authentication.k8s.io") "resources" (list "tokenreviews") "verbs" (list "create") -}}
{{- $access := dict "apiGroups" (list "authorization.k8s.io") "resources" (list "subjectaccessreviews") "verbs" (list "create") -}}
{{- include "gyre.grant" (list $all "" "" (list $tokens $access)) -}}
{{- end -}}
{{- $all | toJson -}}
{{- end -}}

{{/* What the host does in its own namespace: whose turn it is to write, and what is mounted. */}}
{{- define "gyre.ownRules" -}}
{{- if .Values.ha.enabled }}
{{- if eq .Values.ha.leaderElection.scope "mount" }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create, delete, get, list, update]
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
