{{/* The rules of the plugins in the image, by file. `reads`: for the host, in the namespaces of the mount. `readsEverywhere`: also for the host, if the mount is for all namespaces. `writes`: for the account that writes for the mount. */}}
{{- define "gyre.builtin" -}}
{{- .Files.Get "files/rules.json" -}}
{{- end -}}

{{/* Adds rules to those of an account in a namespace. Takes a list: all rules, the account (empty: the host's), the namespace (empty: all), the entry of `plugins` that they are for (empty: none), the rules to add. */}}
{{- define "gyre.grant" -}}
{{- $key := printf "%s|%s|%s" (index . 1) (index . 2) (index . 3) -}}
{{- $_ := set (index . 0) $key (concat (get (index . 0) $key | default list) (index . 4) | uniq) -}}
{{- end -}}

{{/* Adds the rules of a value: a list of rules, in these places; or the text that `gyre rbac` prints, with its Roles and ClusterRoles. Takes a list: the root, all rules, the path of the value, the value, the places, the entry of `plugins` that it is for (empty: none). */}}
{{- define "gyre.grantValue" -}}
{{- $root := index . 0 -}}{{- $all := index . 1 -}}{{- $path := index . 2 -}}{{- $value := index . 3 -}}{{- $plugin := index . 5 -}}
{{- if kindIs "string" $value -}}
{{- $objects := list -}}
{{- range $text := regexSplit "(?m)^---.*$" $value -1 -}}
{{- $object := fromYaml $text -}}
{{- if hasKey $object "Error" -}}
{{- fail (printf "%s: expected a list of rules, or the text that `gyre rbac` prints: %s" $path $object.Error) -}}
{{- end -}}
{{- if $object -}}{{- $objects = append $objects $object -}}{{- end -}}
{{- end -}}
{{- range $object := $objects -}}
{{- $kind := $object.kind | default "" -}}
{{- $name := dig "metadata" "name" "" $object -}}{{- $place := dig "metadata" "namespace" "" $object -}}
{{- if not (has $kind (list "ClusterRole" "Role" "ClusterRoleBinding" "RoleBinding")) -}}
{{- fail (printf "%s: expected Roles and ClusterRoles as `gyre rbac` prints them, but it contains the kind %q" $path $kind) -}}
{{- end -}}
{{- if and (eq $kind "ClusterRole") $root.Values.rbac.namespaced -}}
{{- fail (printf "%s: the ClusterRole %s is excluded by rbac.namespaced; print Roles: `gyre rbac --namespaced`, with the namespaces of the mount" $path $name) -}}
{{- end -}}
{{- /* The chart binds the roles itself, and has its own for the host's Leases, inventory and reviews. */ -}}
{{- if and (has $kind (list "ClusterRole" "Role")) (not (regexMatch "^[^:]+:host$" $name)) -}}
{{- $account := "" -}}
{{- if regexMatch "^[^:]+:mount:[^:]+:writer$" $name -}}
{{- range $binding := $objects -}}
{{- if and (eq ($binding.kind | default "") (printf "%sBinding" $kind)) (eq (dig "metadata" "name" "" $binding) $name) (eq (dig "metadata" "namespace" "" $binding) $place) -}}
{{- $account = printf "%s/%s" (first $binding.subjects).namespace (first $binding.subjects).name -}}
{{- end -}}
{{- end -}}
{{- if not $account -}}
{{- fail (printf "%s: nothing says whom the role %s is for; take the whole text that `gyre rbac` prints, with the bindings" $path $name) -}}
{{- end -}}
{{- end -}}
{{- include "gyre.grant" (list $all $account $place $plugin ($object.rules | default list)) -}}
{{- end -}}
{{- end -}}
{{- else -}}
{{- range $place := index . 4 -}}
{{- include "gyre.grant" (list $all "" $place $plugin ($value | default list)) -}}
{{- end -}}
{{- end -}}
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

{{/* All rules, by account, namespace and entry of `plugins`, as JSON: what `gyre rbac` prints for the plugins in the image, and what the values contain for others. */}}
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
{{- include "gyre.grant" (list $all "" $place "" .reads) -}}
{{- if not ($mount.namespaces | default $defaults.namespaces) -}}
{{- include "gyre.grant" (list $all "" "" "" .readsEverywhere) -}}
{{- end -}}
{{- include "gyre.grant" (list $all $writer $place "" .writes) -}}
{{- end -}}
{{- end -}}
{{- with $mount.impersonate -}}
{{- $account := splitList "/" . -}}
{{- $rule := dict "apiGroups" (list "") "resources" (list "serviceaccounts") "resourceNames" (list (last $account)) "verbs" (list "impersonate") -}}
{{- include "gyre.grant" (list $all "" (first $account) "" (list $rule)) -}}
{{- end -}}
{{- end -}}
{{- if not $everyPlace -}}
{{- $everyPlace = include "gyre.places" (list $root $defaults (dict "plugin" $config.pluginDirectory)) | fromJsonArray -}}
{{- end -}}
{{- range $index, $plugin := .Values.plugins -}}
{{- $places := list -}}
{{- range $mount := $plugin.mounts | default (list dict) -}}
{{- $places = concat $places (include "gyre.places" (list $root $defaults (merge (dict "plugin" $plugin.name) $mount)) | fromJsonArray) -}}
{{- end -}}
{{- if and (hasKey $plugin "mounts") (not $plugin.mounts) -}}{{- $places = $everyPlace -}}{{- end -}}
{{- include "gyre.grantValue" (list $root $all (printf "plugins[%d].rules" $index) $plugin.rules (uniq $places) $plugin.name) -}}
{{- end -}}
{{- include "gyre.grantValue" (list $root $all "rbac.extraRules" .Values.rbac.extraRules $everyPlace "") -}}
{{- if .Values.monitoring.secure.enabled -}}
{{- if .Values.rbac.namespaced -}}
{{- fail "monitoring.secure: checking who may see the metrics needs a ClusterRole, which rbac.namespaced excludes" -}}
{{- end -}}
{{- $tokens := dict "apiGroups" (list "authentication.k8s.io") "resources" (list "tokenreviews") "verbs" (list "create") -}}
{{- $access := dict "apiGroups" (list "authorization.k8s.io") "resources" (list "subjectaccessreviews") "verbs" (list "create") -}}
{{- include "gyre.grant" (list $all "" "" "" (list $tokens $access)) -}}
{{- end -}}
{{- $all | toJson -}}
{{- end -}}

{{/* The rules of the host in its own namespace: for Leases, its inventory and, if a plugin has to do with Secrets, the key of digests of generated values. */}}
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
{{- if contains "\"secrets\"" (include "gyre.rules" .) }}
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [{{ include "gyre.deployment" . }}-digests]
  verbs: [get]
{{- end }}
{{- end -}}
