{{/* URL at which people reach the backend; empty when no value says it. */}}
{{- define "klutch.publicUrl" -}}
{{- if .Values.publicUrl -}}
{{- trimSuffix "/" .Values.publicUrl -}}
{{- else if .Values.ingress.host -}}
https://{{ .Values.ingress.host }}
{{- else if .Values.gateway.host -}}
https://{{ .Values.gateway.host }}
{{- end -}}
{{- end }}

{{/* Not empty when a login is served: always, except that the control-plane mode may go without. */}}
{{- define "klutch.login" -}}
{{- if or (not .Values.controlPlaneMode) .Values.oidc.issuerUrl .Values.oidc.clientId .Values.oidc.secretName }}yes{{ end -}}
{{- end }}

{{/* Secret with the certificate of the public URL; empty when there is none. */}}
{{- define "klutch.tlsSecret" -}}
{{- if .Values.tls.certManager.enabled }}klutch-backend-tls{{ else }}{{ .Values.tls.secretName }}{{ end -}}
{{- end }}

{{/* Not empty when the backend itself ends TLS. */}}
{{- define "klutch.servesTls" -}}
{{- if and (include "klutch.tlsSecret" .) (not .Values.ingress.enabled) }}yes{{ end -}}
{{- end }}

{{- define "klutch.servicePort" -}}
{{- if kindIs "invalid" .Values.service.port -}}
{{- if include "klutch.servesTls" . }}443{{ else }}80{{ end -}}
{{- else -}}
{{- int .Values.service.port -}}
{{- end -}}
{{- end }}

{{/* By these labels the Pods are found, those of the bundles and those of any release: all are called alike, so there is one of them. */}}
{{- define "klutch.selector" -}}
app.kubernetes.io/name: klutch-backend
{{- end }}
