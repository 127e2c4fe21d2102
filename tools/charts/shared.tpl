{{/* An image of this release: a list of the root and its name below the registry. The tag stays beside a digest, because people and plugins read it. */}}
{{- define "%CHART%.image" -}}
{{- $root := index . 0 -}}
{{- $image := $root.Values.image -}}
{{- printf "%s/%s:%s" $image.registry (index . 1) (default $root.Chart.AppVersion $image.tag) -}}
{{- with $image.digest }}@{{ . }}{{ end -}}
{{- end }}

{{/* Labels of what the chart makes: a list of the root and the name. */}}
{{- define "%CHART%.labels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ index . 1 }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end }}

{{/* Constraints that name no Pods select those of the chart: a list of the constraints and the labels of the Pods. */}}
{{- define "%CHART%.spread" -}}
{{- $constraints := list -}}
{{- $own := dict "labelSelector" (dict "matchLabels" (index . 1)) -}}
{{- range index . 0 -}}
{{- $constraints = append $constraints (hasKey . "labelSelector" | ternary . (merge (deepCopy .) $own)) -}}
{{- end -}}
{{- toYaml $constraints -}}
{{- end }}

{{/* Variables that switch traces on. */}}
{{- define "%CHART%.tracing" -}}
{{- with .Values.tracing.endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ . | quote }}
- name: OTEL_TRACES_SAMPLER
  value: parentbased_traceidratio
- name: OTEL_TRACES_SAMPLER_ARG
  value: {{ toString $.Values.tracing.samplingRatio | quote }}
{{- end }}
{{- end }}

{{/* What is wrong with values that both charts have, a line each. */}}
{{- define "%CHART%.sharedFaults" -}}
{{- $image := .Values.image -}}
{{- if not (regexMatch "^[A-Za-z0-9][A-Za-z0-9.-]*(:[1-9][0-9]{0,4})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$" $image.registry) }}
image.registry: is {{ $image.registry | quote }}, must be HOST[:PORT][/PATH], such as registry.example.org/klutch
{{- end }}
{{- if not (regexMatch "^([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$" $image.tag) }}
image.tag: is {{ $image.tag | quote }}, must be a tag, such as {{ .Chart.AppVersion }}
{{- end }}
{{- if not (regexMatch "^(sha256:[0-9a-f]{64})?$" $image.digest) }}
image.digest: is {{ $image.digest | quote }}, must be sha256: and 64 hexadecimal digits
{{- end }}
{{- with .Values.tracing.endpoint }}
{{- if contains "@" . }}
tracing.endpoint: must not contain a user or a password
{{- else if not (regexMatch "^https?://[^ /?#@]+(/[^ ?#]*)?$" .) }}
tracing.endpoint: is {{ . | quote }}, must be an http or https URL, such as http://collector.observability:4318
{{- end }}
{{- end }}
{{- $isAtHome := eq .Release.Namespace "%NAMESPACE%" }}
{{- if and $isAtHome .Values.namespace.create }}
namespace.create: is true, but Helm makes the release's own namespace %NAMESPACE% before the chart; leave it false and give --create-namespace
{{- end }}
{{- if not (or $isAtHome .Values.namespace.create) }}
namespace: is {{ .Release.Namespace | quote }}, must be %NAMESPACE%, whose name other parts rely on: give --namespace %NAMESPACE% --create-namespace, or set namespace.create=true
{{- end }}
{{- $replicas := int .Values.replicas }}
{{- $least := int .Values.podDisruptionBudget.minAvailable }}
{{- if and .Values.podDisruptionBudget.enabled (gt $replicas 1) (ge $least $replicas) }}
podDisruptionBudget.minAvailable: is {{ $least }} with replicas {{ $replicas }}, so no Pod could ever be evicted; must be less than replicas, or set podDisruptionBudget.enabled=false
{{- end }}
{{- end }}
