{{/* The rules of the plugins in the image, by file. `reads`: for the host, in the namespaces of the mount. `readsEverywhere`: also for the host, if the mount is for all namespaces. `writes`: for the account that writes for the mount. */}}
{{- define "gyre.builtin" -}}
{{- .Files.Get "files/rules.json" -}}
{{- end -}}

{{/* Adds rules to those of an account in a namespace. Takes a list: all rules, the account (empty: the host's), the namespace (empty: all), the rules to add. */}}
{{- define "gyre.grant" -}}
{{- $key := printf "%s|%s" (index . 1) (index . 2) -}}
{{- $_ := set (index . 0) $key (concat (get (index . 0) $key | default list) (index . 3) | uniq) -}}
{{- end -}}

{{/* The namespaces of a mount, as a JSON list; "" means all. Takes a list: the root, the defaults, the mount. */}}
{{- define "gyre.places" -}}
{{- $root := index . 0 -}}{{- $mount := index . 2 -}}
{{- $places := list "" -}}
{{- if $root.Values.rbac.namespaced -}}
{{- $places = $mount.namespaces | default (index . 1).namespaces -}}
{{- if not $places -}}
{{- fail (printf "rbac.namespaced: %s is mounted for all namespaces; set `namespaces` of the mount or of the chart" $mount.plugin) -}}
{{- end -}}
{{- end -}}
{{- $places | toJson -}}
{{- end -}}

{{/* All rules, by account and namespace, as JSON: what `gyre rbac` prints for the plugins in the image, and what the values contain for others. */}}
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
{{- fail "monitoring.secure: checking who may see the metrics needs a ClusterRole, which rbac.namespaced excludes" -}}
{{- end -}}
{{- $tokens := dict "apiGroups" (list "authentication.k8s.io") "resources" (list "tokenreviews") "verbs" (list "create") -}}
{{- $access := dict "apiGroups" (list "authorization.k8s.io") "resources" (list "subjectaccessreviews") "verbs" (list "create") -}}
{{- include "gyre.grant" (list $all "" "" (list $tokens $access)) -}}
{{- end -}}
{{- $all | toJson -}}
{{- end -}}

{{/* The rules of the host in its own namespace: for Leases and its inventory. */}}
{{- define "gyre.ownRules" -}}
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
  resourceNames: [{{ include "gyre.deployment" . }}]
  verbs: [get, update]
{{- end }}
- apiGroups: [""]
  resources: [configmaps]
  verbs: [create]
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [{{ include "gyre.deployment" . }}-inventory]
  verbs: [get, update]
{{- end -}}
