{{/* Refuses values that contradict each other or that the backend would refuse, all faults at once. */}}
{{- define "klutch.check" -}}
{{- $faults := list (include "klutch.sharedFaults" .) (include "klutch.loginFaults" .) (include "klutch.networkFaults" .) (include "klutch.kindFaults" .) | join "\n" -}}
{{- $lines := list -}}
{{- range splitList "\n" $faults }}{{- with trim . }}{{- $lines = append $lines . }}{{- end }}{{- end -}}
{{- with $lines }}{{- fail (printf "\n%s" (join "\n" .)) }}{{- end -}}
{{- end }}

{{/* A URL with a user in it may hold a password, which no message shows. Takes the name, the URL. */}}
{{- define "klutch.urlFault" -}}
{{- $name := index . 0 -}}
{{- $url := index . 1 -}}
{{- if contains "@" $url }}
{{ $name }}: must not contain a user or a password
{{- else if not (regexMatch "^https://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/.*)?$|^https://\\[[0-9a-fA-F:]+\\](:[0-9]{1,5})?(/.*)?$" $url) }}
{{ $name }}: is {{ $url | quote }}, must be a URL that starts with https://
{{- end }}
{{- end }}

{{/* Only with a cluster: what only renders finds no kinds, and says nothing. Newer kinds are fine, for the way back, while they serve what we use. */}}
{{- define "klutch.kindFaults" -}}
{{- $older := list -}}
{{- $newer := list -}}
{{- if .Values.crds.check -}}
{{- range $name, $version := fromYaml (include "klutch.kinds" .) -}}
{{- with lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $name -}}
{{- $served := list -}}
{{- range .spec.versions }}{{- if .served }}{{- $served = append $served .name }}{{- end }}{{- end -}}
{{- $release := get (default dict .metadata.annotations) "klutch.anynines.com/release" -}}
{{- if not (has $version $served) -}}
{{- $newer = append $newer (printf "%s (serves %s, not %s)" $name (join ", " $served) $version) -}}
{{- else if not (regexMatch "^v?[0-9]+\\.[0-9]+\\.[0-9]+$" $release) -}}
{{- $older = append $older (printf "%s (of no known release)" $name) -}}
{{- else if not (semverCompare (printf ">=%s" $.Chart.Version) $release) -}}
{{- $older = append $older (printf "%s (of %s)" $name $release) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with $older }}
crds.check: is true, and the cluster has older kinds than {{ $.Chart.AppVersion }}: {{ join ", " . }}; must be upgraded first: helm show crds <this chart> | kubectl apply --server-side --force-conflicts -f -
{{- end -}}
{{- with $newer }}
crds.check: is true, and the cluster has kinds of a newer release, which {{ $.Chart.AppVersion }} cannot use: {{ join ", " . }}; must be the chart of the release that installed them
{{- end -}}
{{- end }}

{{- define "klutch.loginFaults" -}}
{{- $values := .Values -}}
{{- with .Values.apiServer.address }}
{{- include "klutch.urlFault" (list "apiServer.address" .) }}
{{- else }}
apiServer.address: is missing, must be the https URL at which app clusters reach this control plane's API server, such as https://api.example.org:6443
{{- end }}
{{- if include "klutch.login" . }}
{{- with .Values.oidc.issuerUrl }}
{{- include "klutch.urlFault" (list "oidc.issuerUrl" .) }}
{{- else }}
oidc.issuerUrl: is missing, must be the https URL of the identity provider, such as https://login.example.org
{{- end }}
{{- if not .Values.oidc.clientId }}
oidc.clientId: is missing, must be the client ID at the identity provider
{{- end }}
{{- if not .Values.oidc.secretName }}
oidc.secretName: is missing, must name a Secret in klutch-backend that holds the client secret under the key {{ .Values.oidc.secretKey | quote }}
{{- end }}
{{- if not .Values.cookies.secretName }}
cookies.secretName: is missing, must name a Secret in klutch-backend that holds a key of 32 or 64 bytes in base64 under the key {{ .Values.cookies.signingKey | quote }}
{{- end }}
{{- with include "klutch.publicUrl" . }}
{{- include "klutch.urlFault" (list "publicUrl" .) }}
{{- if (urlParse .).path }}
publicUrl: is {{ . | quote }}, must have no path
{{- end }}
{{- else }}
publicUrl: is missing, must be the https URL at which people reach the backend, such as https://klutch.example.org; ingress.host or gateway.host say it, too
{{- end }}
{{- end }}
{{- with .Values.oidc.authorizeUrl }}
{{- include "klutch.urlFault" (list "oidc.authorizeUrl" .) }}
{{- end }}
{{- range $index, $url := .Values.oidc.allowedRedirects }}
{{- include "klutch.urlFault" (list (printf "oidc.allowedRedirects[%d]" $index) $url) }}
{{- end }}
{{- range $name, $pem := dict "oidc.ca" .Values.oidc.ca "apiServer.ca" .Values.apiServer.ca }}
{{- if contains "PRIVATE KEY" $pem }}
{{ $name }}: has a private key, must have certificates only
{{- else if and $pem (not (contains "-----BEGIN CERTIFICATE-----" $pem)) }}
{{ $name }}: has no certificate, must be PEM that begins with -----BEGIN CERTIFICATE-----
{{- end }}
{{- end }}
{{- with .Values.tenants.credentialLifetime }}
{{- if not (regexMatch "^unlimited$|^([0-9]+(\\.[0-9]+)?(h|m|s))+$" .) }}
tenants.credentialLifetime: is {{ . | quote }}, must be a duration of at least 10m, such as 24h, or unlimited
{{- end }}
{{- end }}
{{- end }}

{{- define "klutch.networkFaults" -}}
{{- if and .Values.tenantGateway.enabled (not .Values.tenantGateway.secretName) }}
tenantGateway.secretName: is missing with tenantGateway.enabled=true, must name a Secret in klutch-backend of the type kubernetes.io/tls
{{- end }}
{{- if not (regexMatch "^([0-9]+(\\.[0-9]+)?(h|m|s))+$" .Values.tenantGateway.accessInterval) }}
tenantGateway.accessInterval: is {{ .Values.tenantGateway.accessInterval | quote }}, must be a duration, such as 10s
{{- end }}
{{- $url := include "klutch.publicUrl" . -}}
{{- $host := (urlParse $url).hostname -}}
{{- range $name, $way := dict "ingress" .Values.ingress "gateway" .Values.gateway }}
{{- if and $way.enabled (not $way.host) }}
{{ $name }}.host: is missing with {{ $name }}.enabled=true, must be the host of the public URL, such as klutch.example.org
{{- else if and $way.enabled (not (regexMatch "^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$" $way.host)) }}
{{ $name }}.host: is {{ $way.host | quote }}, must be a DNS name in small letters without scheme and port, such as klutch.example.org
{{- else if and $way.enabled $host (ne $way.host $host) }}
{{ $name }}.host: is {{ $way.host | quote }}, must be {{ $host | quote }} as in {{ $url }}
{{- else if and $way.host (not $way.enabled) }}
{{ $name }}.enabled: is false with {{ $name }}.host {{ $way.host | quote }}, must be true, or the host left out
{{- end }}
{{- end }}
{{- if and .Values.gateway.enabled (not .Values.gateway.parentRefs) }}
gateway.parentRefs: is empty with gateway.enabled=true, must name a Gateway, such as [{name: public, namespace: gateways}]
{{- end }}
{{- range $index, $parent := .Values.gateway.parentRefs }}
{{- if not $parent.name }}
gateway.parentRefs[{{ $index }}].name: is missing, must name a Gateway
{{- end }}
{{- end }}
{{- $tls := .Values.tls }}
{{- if and $tls.secretName $tls.certManager.enabled }}
tls.secretName: is {{ $tls.secretName | quote }} with tls.certManager.enabled=true, must be only one of both: the Secret is yours or cert-manager's
{{- end }}
{{- if and $tls.certManager.enabled (not $tls.certManager.issuerRef.name) }}
tls.certManager.issuerRef.name: is missing with tls.certManager.enabled=true, must name an issuer of the kind {{ $tls.certManager.issuerRef.kind }}
{{- end }}
{{- if and $tls.certManager.issuerRef.name (not $tls.certManager.enabled) }}
tls.certManager.enabled: is false with tls.certManager.issuerRef.name {{ $tls.certManager.issuerRef.name | quote }}, must be true, or the name left out
{{- end }}
{{- if and .Values.gateway.enabled (include "klutch.servesTls" .) }}
gateway.enabled: is true with a certificate in tls, must be one of both: a Gateway ends TLS at its listener and speaks HTTP with the backend
{{- end }}
{{- if and .Values.packages.enabled (not (regexMatch "^([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$" .Values.packages.tag)) }}
packages.tag: is {{ .Values.packages.tag | quote }}, must be a tag, such as {{ .Chart.AppVersion }}
{{- end }}
{{- with .Values.providerKubernetes.package }}
{{- if not (regexMatch "^[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[a-z0-9._-]+)+(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}(@sha256:[0-9a-f]{64})?|@sha256:[0-9a-f]{64})$" .) }}
providerKubernetes.package: is {{ . | quote }}, must be a package with its registry and a tag or digest, such as registry.example.org/crossplane/provider-kubernetes:v1.2.0
{{- end }}
{{- end }}
{{- end }}
