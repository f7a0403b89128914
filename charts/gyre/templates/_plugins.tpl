{{/* The folder with the files of a source of plugins. */}}
{{- define "gyre.folder" -}}
/plugins/{{ .name }}
{{- end -}}

{{/* The source of a plugin. There must be exactly one. */}}
{{- define "gyre.source" -}}
{{- $found := list -}}
{{- range $source := list "oci" "binary" "configMap" "persistentVolumeClaim" "initContainer" "image" -}}
{{- if get $ $source -}}{{- $found = append $found $source -}}{{- end -}}
{{- end -}}
{{- if ne (len $found) 1 -}}
{{- fail (printf "plugins: %q has %d sources; give it one of oci, binary, configMap, persistentVolumeClaim, initContainer and image" $.name (len $found)) -}}
{{- end -}}
{{- first $found -}}
{{- end -}}

{{/* The file of a public key, beside the configuration. Takes a list: the entry of `plugins`, the index of the key. */}}
{{- define "gyre.keyFile" -}}
{{- printf "%s-%d.pub" (index . 0).name (index . 1) -}}
{{- end -}}

{{/* The references of all mounts and shadows, as a JSON list. */}}
{{- define "gyre.references" -}}
{{- $references := list -}}
{{- range $mount := (include "gyre.config" . | fromYaml).mounts -}}
{{- range $plugin := list $mount.plugin ($mount.shadow | default dict).plugin -}}
{{- if hasPrefix "oci://" ($plugin | default "") -}}{{- $references = append $references $plugin -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- $references | uniq | toJson -}}
{{- end -}}

{{/* The Secret with the credentials for registries, or nothing. The host reads one file, which may be for several registries. */}}
{{- define "gyre.pullSecret" -}}
{{- $secrets := list -}}
{{- range .Values.plugins -}}{{- with (.oci | default dict).pullSecret -}}{{- $secrets = append $secrets . | uniq -}}{{- end -}}{{- end -}}
{{- if gt (len $secrets) 1 -}}
{{- fail (printf "plugins: there are several pull secrets, %s; put the credentials for all registries into one" (join ", " $secrets)) -}}
{{- end -}}
{{- join "" $secrets -}}
{{- end -}}

{{/* A plugin in base64, without the line breaks that the program base64 writes. */}}
{{- define "gyre.binary" -}}
{{- $text := regexReplaceAll "\\s" .binary "" -}}
{{- if not (hasPrefix "AGFzb" $text) -}}
{{- fail (printf "plugins: the binary of %q is not a WebAssembly component in base64; try --set-file 'plugins[0].binary=FILE' with a file that `base64 -w0` wrote" .name) -}}
{{- end -}}
{{- $text -}}
{{- end -}}

{{/* Helm stores a release in a Secret of at most 1 MiB: compressed, then in base64. It contains each binary twice, in the values and in a manifest, which takes about 1.05 bytes for each character; the rest of the chart takes 70 KB. */}}
{{- define "gyre.checkBinaries" -}}
{{- $characters := 0 -}}{{- $names := list -}}
{{- range $plugin := .Values.plugins -}}
{{- with $plugin.binary -}}
{{- $characters = add $characters (len (regexReplaceAll "\\s" . "")) -}}{{- $names = append $names $plugin.name -}}
{{- end -}}
{{- end -}}
{{- if gt $characters 900000 -}}
{{- fail (printf "plugins: the binaries of %s have %d KB together, and a release holds 675 KB of them, because Helm stores it in a Secret of at most 1 MiB; use image, initContainer, persistentVolumeClaim or configMap for some of them" (join ", " $names) (div (mul $characters 3) 4000)) -}}
{{- end -}}
{{- end -}}

{{/* The CustomResourceDefinitions of `plugins` by name, as JSON. Each value is a list of them, or the text that `gyre crds` prints. */}}
{{- define "gyre.pluginCrds" -}}
{{- $all := dict -}}
{{- range $index, $plugin := .Values.plugins -}}
{{- $crds := $plugin.crds | default list -}}
{{- if kindIs "string" $crds -}}
{{- $texts := regexSplit "(?m)^---.*$" $crds -1 -}}
{{- $crds = list -}}
{{- range $text := $texts -}}
{{- with fromYaml $text -}}{{- $crds = append $crds . -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- range $crd := $crds -}}
{{- $name := dig "metadata" "name" "" $crd -}}
{{- if or (ne (dig "kind" "" $crd) "CustomResourceDefinition") (not $name) -}}
{{- fail (printf "plugins[%d].crds: expected CustomResourceDefinitions as `gyre crds` prints them%s" $index (ternary (printf ": %v" $crd.Error) "" (hasKey $crd "Error"))) -}}
{{- end -}}
{{- if and (hasKey $all $name) (ne (get $all $name | toJson) (toJson $crd)) -}}
{{- fail (printf "plugins[%d].crds: another plugin contains a different CustomResourceDefinition %s; leave one of them out" $index $name) -}}
{{- end -}}
{{- $_ := set $all $name $crd -}}
{{- end -}}
{{- end -}}
{{- $all | toJson -}}
{{- end -}}

{{/* The configuration of the host: `config`, with what other values add to it. */}}
{{- define "gyre.config" -}}
{{- $config := deepCopy (.Values.config | default dict) -}}
{{- $_ := set $config "name" (include "gyre.deployment" .) -}}
{{- $defaults := $config.defaults | default dict -}}
{{- if hasKey $defaults "workers" -}}
{{- fail "config.defaults.workers: use numWorkers, which overrides it" -}}
{{- end -}}
{{- if .Values.namespaces -}}
{{- if hasKey $defaults "namespaces" -}}
{{- fail "config.defaults.namespaces: namespaces sets the same; remove one of them" -}}
{{- end -}}
{{- $_ := set $defaults "namespaces" .Values.namespaces -}}
{{- end -}}
{{- if $defaults -}}{{- $_ := set $config "defaults" $defaults -}}{{- else -}}{{- $_ := unset $config "defaults" -}}{{- end -}}
{{- $mounts := $config.mounts | default list -}}
{{- $names := dict -}}
{{- range $plugin := .Values.plugins -}}
{{- if hasKey $names $plugin.name -}}
{{- fail (printf "plugins: two have the name %q" $plugin.name) -}}
{{- end -}}
{{- $_ := set $names $plugin.name true -}}
{{- $wanted := list dict -}}
{{- if hasKey $plugin "mounts" -}}{{- $wanted = $plugin.mounts -}}{{- end -}}
{{- range $mount := $wanted -}}
{{- $own := dict -}}
{{- if $plugin.oci -}}
{{- if $mount.plugin -}}
{{- fail (printf "plugins: a mount of %q names a plugin; remove it, because its source oci is one plugin" $plugin.name) -}}
{{- end -}}
{{- $own = merge (dict "plugin" $plugin.oci.reference) (pick $plugin.oci "digest" "pull") -}}
{{- $keys := list -}}
{{- range $index, $_ := $plugin.oci.keys -}}{{- $keys = append $keys (include "gyre.keyFile" (list $plugin $index)) -}}{{- end -}}
{{- if $keys -}}{{- $_ := set $own "verify" (dict "keys" $keys) -}}{{- end -}}
{{- else -}}
{{- $file := get $mount "plugin" | default (printf "%s.wasm" $plugin.name) -}}
{{- $_ := set $own "plugin" (printf "%s/%s" (include "gyre.folder" $plugin) $file) -}}
{{- end -}}
{{- $mounts = append $mounts (merge $own $mount) -}}
{{- end -}}
{{- end -}}
{{- if $mounts -}}{{- $_ := set $config "mounts" $mounts -}}{{- else -}}{{- $_ := unset $config "mounts" -}}{{- end -}}
{{- if not (or $mounts $config.pluginDirectory) -}}
{{- fail "nothing is mounted: give config.mounts, config.pluginDirectory or plugins" -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* The volumes that contain plugins. */}}
{{- define "gyre.pluginVolumes" -}}
{{- $root := . -}}
{{- range $plugin := .Values.plugins }}
{{- $source := include "gyre.source" $plugin }}
{{- if ne $source "oci" }}
- name: plugin-{{ $plugin.name }}
  {{- if eq $source "binary" }}
  configMap:
    name: {{ include "gyre.fullname" $root }}-plugin-{{ $plugin.name }}
  {{- else if eq $source "configMap" }}
  configMap:
    name: {{ $plugin.configMap.name }}
  {{- else if eq $source "persistentVolumeClaim" }}
  persistentVolumeClaim:
    claimName: {{ $plugin.persistentVolumeClaim.claimName }}
    readOnly: true
  {{- else if eq $source "initContainer" }}
  emptyDir: {}
  {{- else }}
  {{- if semverCompare "<1.33.0-0" $root.Capabilities.KubeVersion.Version }}
  {{- fail (printf "plugins: the source image of %q needs Kubernetes 1.33 or later, and this is %s; use initContainer" $plugin.name $root.Capabilities.KubeVersion.Version) }}
  {{- end }}
  image:
    reference: {{ $plugin.image.reference }}
    {{- with $plugin.image.pullPolicy }}
    pullPolicy: {{ . }}
    {{- end }}
  {{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "gyre.pluginVolumeMounts" -}}
{{- range $plugin := .Values.plugins }}
{{- if ne (include "gyre.source" $plugin) "oci" }}
- name: plugin-{{ $plugin.name }}
  mountPath: {{ include "gyre.folder" $plugin }}
  {{- with (get $plugin (include "gyre.source" $plugin)) }}
  {{- if kindIs "map" . }}
  {{- with .subPath }}
  subPath: {{ . }}
  {{- end }}
  {{- end }}
  {{- end }}
  readOnly: true
{{- end }}
{{- end }}
{{- end -}}

{{/* A namespace in which the plugin echo reconciles every Echo, or nothing if it is not mounted so, or its CustomResourceDefinition is not part of the release. */}}
{{- define "gyre.echoNamespace" -}}
{{- $config := include "gyre.config" . | fromYaml -}}
{{- $namespaces := list -}}
{{- $names := list -}}
{{- range $mount := $config.mounts -}}
{{- $names = append $names (clean $mount.plugin) -}}
{{- if and (eq (clean $mount.plugin) "/plugins/echo.wasm") (not $mount.selector) -}}
{{- $namespaces = concat $namespaces ($mount.namespaces | default ($config.defaults | default dict).namespaces | default (list "default")) -}}
{{- end -}}
{{- end -}}
{{- if and (eq (clean ($config.pluginDirectory | default "")) "/plugins") (not (has "/plugins/echo.wasm" $names)) -}}
{{- $namespaces = concat $namespaces (($config.defaults | default dict).namespaces | default (list "default")) -}}
{{- end -}}
{{- if and .Values.crds.enabled $namespaces -}}{{- first $namespaces -}}{{- end -}}
{{- end -}}
