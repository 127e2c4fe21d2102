{{/* Refuses values that contradict each other, all faults at once. */}}
{{- define "klutch-konnector.check" -}}
{{- $lines := list -}}
{{- $faults := printf "%s\n%s" (include "klutch-konnector.sharedFaults" .) (include "klutch-konnector.bindingFaults" .) -}}
{{- range splitList "\n" $faults }}{{- with trim . }}{{- $lines = append $lines . }}{{- end }}{{- end -}}
{{- with $lines }}{{- fail (printf "\n%s" (join "\n" .)) }}{{- end -}}
{{- end }}

{{/* The agent would refuse these APIs, and rights on them would be rights on kinds of the cluster itself. */}}
{{- define "klutch-konnector.bindingFaults" -}}
{{- $provider := .Values.provider }}
{{- if and $provider.url (not (regexMatch "^https://[^/?#@]+(/[^?#@]*)?$" $provider.url)) }}
provider.url: is {{ $provider.url | quote }}, must be an https URL, such as https://klutch.example.org
{{- end }}
{{- if and $provider.url (not (regexMatch "^[a-z0-9]([-a-z0-9.]{0,62}[a-z0-9])?$" $provider.appCluster)) }}
provider.appCluster: is {{ $provider.appCluster | quote }}, must be the name of an AppCluster in the control plane
{{- end }}
{{- if and $provider.appCluster (not $provider.url) }}
provider.url: is empty, must be the public URL of the backend, because provider.appCluster is set
{{- end }}
{{- if .Values.followUpdates }}
{{- if eq $.Values.admissionPolicy.enabled false }}
followUpdates: needs admissionPolicy.enabled, which limits the konnector's right to the tag of its own image
{{- end }}
{{- if .Values.image.digest }}
followUpdates: needs an image.digest that is empty, because no version replaces a digest
{{- end }}
{{- if not (regexMatch "^v(0|[1-9][0-9]{0,5})[.](0|[1-9][0-9]{0,5})[.](0|[1-9][0-9]{0,5})$" (default .Chart.AppVersion .Values.image.tag)) }}
followUpdates: needs the version of a release as image.tag, such as {{ .Chart.AppVersion }}
{{- end }}
{{- end }}
{{- with .Values.autoBind.groups }}
{{- if not $provider.url }}
autoBind.groups: needs provider.url and provider.appCluster, by which the konnector binds without a person
{{- end }}
{{- if eq $.Values.admissionPolicy.enabled false }}
autoBind.groups: needs admissionPolicy.enabled, which limits the konnector's rights to APIs of these groups
{{- end }}
{{- end }}
{{- range $index, $group := .Values.autoBind.groups }}
{{- if or (include "klutch-konnector.apiFault" (printf "apis.%s" $group)) (regexMatch "[^-a-z0-9.]" $group) }}
autoBind.groups[{{ $index }}]: is {{ $group | quote }}, must be an API group with a dot that belongs to neither Kubernetes nor Klutch, such as anynines.com, without wildcards
{{- end }}
{{- end }}
{{- range $index, $name := .Values.autoBind.except }}
{{- with include "klutch-konnector.apiFault" $name }}
autoBind.except[{{ $index }}]: is {{ $name | quote }}, {{ . }}
{{- end }}
{{- end }}
{{- $names := dict -}}
{{- range $index, $binding := .Values.bindings }}
{{- $at := printf "bindings[%d]" $index }}
{{- $name := $binding.name }}
{{- with include "klutch-konnector.apiFault" $name }}
{{ $at }}.name: is {{ $name | quote }}, {{ . }}
{{- end }}
{{- if not (or $binding.secretName $provider.url) }}
{{ $at }}.secretName: is missing, must be the Secret with the provider's kubeconfig, or set provider.url
{{- end }}
{{- if hasKey $names $name }}
{{ $at }}.name: is {{ $name | quote }} as in bindings[{{ get $names $name }}], must be bound once
{{- end }}
{{- $_ := set $names $name $index }}
{{- range $number, $claim := $binding.permissionClaims }}
{{- if not (has $claim.state (list "Accepted" "Rejected")) }}
{{ $at }}.permissionClaims[{{ $number }}].state: is {{ $claim.state | quote }}, must be Accepted or Rejected
{{- end }}
{{- if not (regexMatch "^[a-z][-a-z0-9]*[a-z0-9]$" (toString $claim.resource)) }}
{{ $at }}.permissionClaims[{{ $number }}].resource: is {{ $claim.resource | quote }}, must be the plural name of one resource, without wildcards
{{- end }}
{{- if contains "*" (toString $claim.group) }}
{{ $at }}.permissionClaims[{{ $number }}].group: is {{ $claim.group | quote }}, must be one group, without wildcards
{{- end }}
{{- end }}
{{- end }}
{{- end }}
