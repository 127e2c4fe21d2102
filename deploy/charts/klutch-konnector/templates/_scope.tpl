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
{{- $bound = append $bound (dict "name" .metadata.name "claims" (dig "spec" "permissionClaims" list .)) -}}
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

{{/* Resources of accepted claims that the agent may write, as <plural>.<group>. Takes what is bound. */}}
{{- define "klutch-konnector.claimed" -}}
{{- $names := list -}}
{{- range . -}}
{{- range .claims -}}
{{- $update := default dict .update -}}
{{- $isTheirs := eq (dig "selector" "owner" "" .) "Consumer" -}}
{{- $isWritten := or (not $isTheirs) .autoAdopt .autoDonate $update.fields $update.labelsOnConsumerOwnedObjects $update.annotationsOnConsumerOwnedObjects -}}
{{- if and (eq .state "Accepted") $isWritten -}}
{{- $names = append $names (trimSuffix "." (printf "%s.%s" .resource (default "" .group))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
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
{{- if not (regexMatch "^[-./\\w]+$" .) -}}{{- fail (printf "%s is no name of a resource and no type of a Secret" (quote .)) -}}{{- end -}}
{{- $texts = append $texts (printf "'%s'" .) -}}
{{- end -}}
[{{ join ", " $texts }}]
{{- end }}
