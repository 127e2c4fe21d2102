{{/* Refuses values that contradict each other, all faults at once. */}}
{{- define "klutch-konnector.check" -}}
{{- $lines := list -}}
{{- $faults := printf "%s\n%s" (include "klutch-konnector.sharedFaults" .) (include "klutch-konnector.bindingFaults" .) -}}
{{- range splitList "\n" $faults }}{{- with trim . }}{{- $lines = append $lines . }}{{- end }}{{- end -}}
{{- with $lines }}{{- fail (printf "\n%s" (join "\n" .)) }}{{- end -}}
{{- end }}

{{/* The agent would refuse these APIs, and rights on them would be rights on kinds of the cluster itself. */}}
{{- define "klutch-konnector.bindingFaults" -}}
{{- $names := dict -}}
{{- range $index, $binding := .Values.bindings }}
{{- $at := printf "bindings[%d]" $index }}
{{- $name := $binding.name }}
{{- with include "klutch-konnector.apiFault" $name }}
{{ $at }}.name: is {{ $name | quote }}, {{ . }}
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
