{{/* Arguments of the backend that follow from values, besides those that a value gives as it is. */}}
{{- define "klutch.arguments" -}}
- {{ printf "--konnector-image=%s" (default (printf "%s/konnector:%s" .Values.image.registry .Chart.AppVersion) .Values.konnectorImage) | quote }}
{{- if include "klutch.login" . }}
- {{ printf "--oidc-callback-url=%s/callback" (include "klutch.publicUrl" .) | quote }}
{{- end }}
{{- if .Values.apiServer.ca }}
- --external-ca-file=/etc/klutch/authorities/api-server.crt
{{- end }}
{{- if include "klutch.servesTls" . }}
- --tls-cert-file=/etc/klutch/tls/tls.crt
- --tls-key-file=/etc/klutch/tls/tls.key
{{- end }}
{{ include "klutch.flags" . | trim }}
{{- end }}

{{/* Its variables besides those that name its Pod. Secrets come by reference. */}}
{{- define "klutch.variables" -}}
{{- if .Values.oidc.ca }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/klutch/authorities/oidc.crt
{{- end }}
{{- if include "klutch.login" . }}
- name: OIDC_CLIENT_SECRET
  valueFrom:
    secretKeyRef:
      name: {{ .Values.oidc.secretName }}
      key: {{ .Values.oidc.secretKey }}
- name: COOKIE_SIGNING_KEY
  valueFrom:
    secretKeyRef:
      name: {{ .Values.cookies.secretName }}
      key: {{ .Values.cookies.signingKey }}
- name: COOKIE_ENCRYPTION_KEY
  valueFrom:
    secretKeyRef:
      name: {{ .Values.cookies.secretName }}
      key: {{ .Values.cookies.encryptionKey }}
      optional: true
{{- end }}
{{- include "klutch.tracing" . }}
{{- end }}

{{/* Volumes of the Pod, each with the path at which the backend has it. */}}
{{- define "klutch.volumes" -}}
{{- if or .Values.apiServer.ca .Values.oidc.ca }}
- mountPath: /etc/klutch/authorities
  volume:
    name: authorities
    configMap:
      name: klutch-backend-authorities
{{- end }}
{{- if include "klutch.servesTls" . }}
- mountPath: /etc/klutch/tls
  volume:
    name: tls
    secret:
      secretName: {{ include "klutch.tlsSecret" . }}
{{- end }}
{{- end }}
