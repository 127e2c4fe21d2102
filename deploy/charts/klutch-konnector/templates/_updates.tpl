{{/* Which versions of which image the konnector may follow to: as JSON, and as the admission policy has it. */}}
{{- define "klutch-konnector.updates" -}}
{{- $tag := default .Chart.AppVersion .Values.image.tag -}}
{{- dict "floor" $tag "line" .Values.followUpdates "repository" (printf "%s/konnector" .Values.image.registry) | toJson -}}
{{- end }}

{{- define "klutch-konnector.updatesText" -}}
{{- if .Values.followUpdates -}}
{{- $scope := include "klutch-konnector.updates" . | fromJson -}}
{'repository': '{{ $scope.repository }}', 'line': '{{ $scope.line }}', 'floor': '{{ $scope.floor }}'}
{{- else -}}
{'repository': '', 'line': '', 'floor': 'v0.0.0'}
{{- end -}}
{{- end }}
