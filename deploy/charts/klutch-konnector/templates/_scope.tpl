{{/* What is bound: by values, and, where Helm sees the cluster, by the plugin. Each with its answered claims. */}}
{{- define "klutch-konnector.bound" -}}
{{- $bound := list -}}
{{- $known := dict -}}
{{- range .Values.bindings -}}
{{- $bound = append $bound (dict "name" .name "claims" (default list .permissionClaims)) -}}
{{- $_ := set $known .name true -}}
{{- end -}}
{{- if .Capabilities.APIVersions.Has "klutch.anynines.com/v1alpha1/APIServiceBinding" -}}
{{- range (lookup "klutch.anynines.com/v1alpha1" "APIServiceBinding" "klutch-bind" "").items -}}
{{- if not (or (hasKey $known .metadata.name) (include "klutch-konnector.apiFault" .metadata.name)) -}}
{{- $claims := dig "spec" "permissionClaims" list . -}}
{{- $role := lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" (printf "klutch-bind-konnector:%s" .metadata.name) -}}
{{- with dig "metadata" "annotations" "klutch.anynines.com/accepted-permission-claims" "" (default dict $role) -}}
{{- $claims = list -}}
{{- range fromJsonArray . -}}{{- $claims = append $claims (merge (dict "state" "Accepted") .) -}}{{- end -}}
{{- end -}}
{{- $bound = append $bound (dict "name" .metadata.name "claims" $claims) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $bound -}}
{{- end }}

{{/* Why an API may not be bound; empty when it may. */}}
{{- define "klutch-konnector.apiFault" -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]{0,61}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?){2,}$" .) -}}
must be <plural>.<group> with a dot in the group, such as postgresqlinstances.anynines.com
{{- else if regexMatch "\\.(k8s\\.io|kubernetes\\.io|klutch\\.anynines\\.com)$" . -}}
must not be of a group that belongs to Kubernetes or Klutch
{{- end -}}
{{- end }}

{{/* What accepted claims allow, one right a line, as the plugin writes them. Takes what is bound. */}}
{{- define "klutch-konnector.claimed" -}}
{{- $rights := list -}}
{{- range . -}}
{{- range .claims -}}
{{- if eq .state "Accepted" -}}
{{- $resource := trimSuffix "." (printf "%s.%s" .resource (default "" .group)) -}}
{{- $update := default dict .update -}}
{{- $read := default dict .read -}}
{{- $owner := dig "selector" "owner" "" . -}}
{{- $names := include "klutch-konnector.exact" (dig "selector" "names" list .) | fromJsonArray -}}
{{- $places := include "klutch-konnector.exact" (dig "selector" "namespaces" list .) | fromJsonArray -}}
{{- if gt (mul (len $names) (len $places)) 5000 -}}{{- $places = list "*" -}}{{- end -}}
{{- $isCopied := or (ne $owner "Consumer") .autoAdopt .autoDonate -}}
{{- $changes := list -}}
{{- range $update.fields -}}
{{- $path := regexReplaceAll "\\['([^']+)'\\]|\\[\"([^\"]+)\"\\]" (trim .) ".${1}${2}" -}}
{{- $changes = append $changes (printf "field %s %s" $resource (regexReplaceAll "^\\$?\\.?" $path "")) -}}
{{- end -}}
{{- range $update.labelsOnConsumerOwnedObjects -}}{{- $changes = append $changes (printf "own-labels %s %s" $resource .pattern) -}}{{- end -}}
{{- range $update.annotationsOnConsumerOwnedObjects -}}{{- $changes = append $changes (printf "own-annotations %s %s" $resource .pattern) -}}{{- end -}}
{{- $kept := list -}}
{{- range concat (default list $update.labels) (default list $read.labelsOnProviderOwnedObjects) -}}{{- $kept = append $kept (printf "labels %s %s" $resource .pattern) -}}{{- end -}}
{{- range concat (default list $update.annotations) (default list $read.overrideAnnotations) -}}{{- $kept = append $kept (printf "annotations %s %s" $resource .pattern) -}}{{- end -}}
{{- $isChanged := and $changes (or (ne $owner "Provider") .autoDonate) -}}
{{- $verbs := list -}}
{{- if $isCopied -}}{{- $verbs = append $verbs "copy" -}}{{- end -}}
{{- if and $isCopied (or .autoAdopt (dig "create" "replaceExisting" false .)) -}}{{- $verbs = append $verbs "take" -}}{{- end -}}
{{- if $isChanged -}}{{- $verbs = append $verbs "patch" -}}{{- end -}}
{{- range $verb := $verbs -}}
{{- range $place := $places -}}
{{- range $name := $names -}}{{- $rights = append $rights (printf "%s %s %s/%s" $verb $resource $place $name) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- range concat (ternary $changes list (not (empty $isChanged))) (ternary $kept list (not (empty $isCopied))) -}}
{{- if regexMatch "^[-\\w]+ [^ ]+ [-./*\\w]+$" . -}}{{- $rights = append $rights . -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $rights -}}
{{- end }}

{{/* Names without a star; what is no name is left out. */}}
{{- define "klutch-konnector.exact" -}}
{{- $names := list -}}
{{- range . -}}{{- if regexMatch "^[-.:\\w]+$" . -}}{{- $names = append $names . -}}{{- end -}}{{- end -}}
{{- if or (empty .) (has "*" .) -}}{{- $names = list "*" -}}{{- end -}}
{{- toJson $names -}}
{{- end }}

{{/* Types of Secrets that may come, those that accepted claims name among them. Takes the root and what is bound. */}}
{{- define "klutch-konnector.types" -}}
{{- $types := include "klutch-konnector.secretTypes" (index . 0) | fromYamlArray -}}
{{- range index . 1 -}}
{{- range .claims -}}
{{- if and (eq .state "Accepted") (eq .resource "secrets") -}}
{{- range dig "selector" "fieldSelectors" list . -}}
{{- range splitList "," . -}}
{{- with regexFind "^\\s*type==?[-./\\w]+\\s*$" . -}}
{{- $types = append $types (regexReplaceAll "^type==?" (trim .) "") -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $types -}}
{{- end }}

{{/* A list of names as CEL writes it. They become part of an expression, so nothing else than a name passes. */}}
{{- define "klutch-konnector.quoted" -}}
{{- $texts := list -}}
{{- range uniq . | sortAlpha -}}
{{- if not (regexMatch "^[-./:*\\w ]+$" .) -}}{{- fail (printf "%s is no name of a resource, no type of a Secret and no right of a claim" (quote .)) -}}{{- end -}}
{{- $texts = append $texts (printf "'%s'" .) -}}
{{- end -}}
[{{ join ", " $texts }}]
{{- end }}
