{{- /* The Collector's configuration. It has no secret: the header comes from the environment. */ -}}
{{- define "cuspan.collectorConfig" -}}
{{- $exporter := .Values.collector.exporter -}}
receivers:
  otlp:
    protocols:
      http: {endpoint: "[${env:POD_IP}]:4318"} # brackets: the address may be of IPv6
      grpc: {endpoint: "[${env:POD_IP}]:4317"}
processors:
  memory_limiter: # first, so that it refuses data before anything else holds it; agents then retry
    check_interval: 1s
    limit_percentage: 80
    spike_limit_percentage: 20
  {{- if .Values.collector.k8sAttributes }}
  k8s_attributes:
    auth_type: serviceAccount
    filter: {node_from_env_var: NODE_NAME}
    pod_association:
      - sources: [{from: resource_attribute, name: k8s.pod.uid}]
      - sources: [{from: resource_attribute, name: k8s.pod.name}, {from: resource_attribute, name: k8s.namespace.name}]
      - sources: [{from: connection}]
    extract:
      metadata: [k8s.namespace.name, k8s.pod.name, k8s.pod.uid, k8s.node.name, k8s.deployment.name, k8s.statefulset.name,
        k8s.daemonset.name, k8s.job.name, k8s.cronjob.name]
  {{- end }}
exporters:
  otlp_http:
    endpoint: ${env:EXPORTER_ENDPOINT}
    compression: gzip
    {{- if $exporter.header.enabled }}
    headers: { {{- $exporter.header.name | quote }}: "${env:EXPORTER_HEADER}"}
    {{- end }}
    {{- if $exporter.insecureSkipVerify }}
    tls: {insecure_skip_verify: true}
    {{- end }}
    # Nothing waits in the Collector's memory: it accepts a request when the backend has. Otherwise agents retry, and keep
    # spans in their spools. deploy/fleet has a Collector with a queue on disk.
    timeout: 5s # less than the agents'
    retry_on_failure: {enabled: false}
    sending_queue: {enabled: false}
extensions:
  health_check: {endpoint: "[${env:POD_IP}]:13133"}
service:
  extensions: [health_check]
  pipelines:
    {{- $processors := .Values.collector.k8sAttributes | ternary "memory_limiter, k8s_attributes" "memory_limiter" }}
    traces: {receivers: [otlp], processors: [{{ $processors }}], exporters: [otlp_http]}
    metrics: {receivers: [otlp], processors: [{{ $processors }}], exporters: [otlp_http]}
  telemetry:
    metrics: {level: none}
{{- end }}
