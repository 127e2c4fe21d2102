{{/* What the agent needs for one bound API: a list of the API's name and of the answered claims. */}}
{{- define "klutch-konnector.bindingRules" -}}
{{- $name := index . 0 -}}
{{- $all := list "get" "list" "watch" "create" "update" "patch" "delete" -}}
{{- $status := list "get" "update" "patch" -}}
{{- $plural := regexFind "^[^.]+" $name -}}
{{- $group := trimPrefix (printf "%s." $plural) $name -}}
{{- $rules := list
  (dict "apiGroups" (list $group) "resources" (list $plural) "verbs" $all)
  (dict "apiGroups" (list $group) "resources" (list (printf "%s/status" $plural)) "verbs" $status)
  (dict "apiGroups" (list "apiextensions.k8s.io") "resources" (list "customresourcedefinitions") "resourceNames" (list $name) "verbs" (list "update" "patch"))
-}}
{{- range index . 1 }}
{{- if eq .state "Accepted" }}
{{- $groups := list (default "" .group) }}
{{- $isTheirs := eq (dig "selector" "owner" "" .) "Consumer" }}
{{- $names := default list (dig "selector" "names" list .) }}
{{- range $names }}{{ if not (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$" .) }}{{ $names = list }}{{ end }}{{ end }}
{{- if gt (len $names) 10 }}{{ $names = list }}{{ end }}
{{- $only := ternary (dict "resourceNames" $names) dict (not (empty $names)) }}
{{- if or (not $isTheirs) .autoAdopt .autoDonate }}
{{- if $names }}
{{- $rules = append $rules (merge (dict "apiGroups" $groups "resources" (list .resource) "verbs" (without $all "create")) $only) }}
{{- $rules = append $rules (dict "apiGroups" $groups "resources" (list .resource) "verbs" (list "create")) }}
{{- else }}
{{- $rules = append $rules (dict "apiGroups" $groups "resources" (list .resource) "verbs" $all) }}
{{- end }}
{{- if not (and (eq (index $groups 0) "") (has .resource (list "secrets" "configmaps"))) }}
{{- $rules = append $rules (merge (dict "apiGroups" $groups "resources" (list (printf "%s/status" .resource)) "verbs" $status) $only) }}
{{- end }}
{{- else }}
{{- $update := default dict .update }}
{{- $changes := or $update.fields $update.labelsOnConsumerOwnedObjects $update.annotationsOnConsumerOwnedObjects }}
{{- $rules = append $rules (merge (dict "apiGroups" $groups "resources" (list .resource) "verbs" (ternary (list "get" "list" "watch" "patch") (list "get" "list" "watch") (not (empty $changes)))) $only) }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $rules }}
{{- end }}
