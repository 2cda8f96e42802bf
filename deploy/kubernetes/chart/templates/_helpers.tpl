{{- define "cuspan.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "cuspan.collector" -}}
{{ .Release.Name }}-collector
{{- end }}

{{- define "cuspan.selector" -}}
app.kubernetes.io/name: cuspan
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "cuspan.labels" -}}
{{ include "cuspan.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: cuspan
{{- end }}

{{- /* v1 is served from 1.36 on. */ -}}
{{- define "cuspan.policyVersion" -}}
admissionregistration.k8s.io/{{ semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version | ternary "v1" "v1beta1" }}
{{- end }}

{{- /* image or init */ -}}
{{- define "cuspan.delivery" -}}
{{- $version := .Capabilities.KubeVersion.Version -}}
{{- $delivery := .Values.inject.delivery -}}
{{- if eq $delivery "auto" -}}
{{- $delivery = semverCompare ">=1.36.0-0" $version | ternary "image" "init" -}}
{{- else if and (eq $delivery "image") (semverCompare "<1.35.0-0" $version) -}}
{{- fail (printf "inject.delivery=image: Kubernetes %s has no image volumes; upgrade to 1.35 or set inject.delivery=init" $version) -}}
{{- end -}}
{{ $delivery }}
{{- end }}

{{- define "cuspan.endpoint" -}}
{{- .Values.inject.endpoint | default (printf "http://%s.%s.svc:4318" (include "cuspan.collector" .) .Release.Namespace) -}}
{{- end }}
