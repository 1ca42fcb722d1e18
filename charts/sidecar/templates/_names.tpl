{{- define "sidecar-chart.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: webhook-sidecar
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "sidecar-chart.name" -}}
{{ required "workload is required: the name of the workload that the sidecar is injected into" .Values.workload }}-sidecar
{{- end -}}

{{- define "sidecar-chart.podLabels" -}}
{{- if not .Values.podLabels }}{{ fail "podLabels is required: the matchLabels of the workload" }}{{ end -}}
{{ toYaml .Values.podLabels }}
{{- end -}}

{{- define "sidecar-chart.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* What the library's templates take. */}}
{{- define "sidecar-chart.pod" -}}
name: {{ .Values.workload | quote }}
ledger: {{ .Values.ledgerNamespace | quote }}
guard: {{ toJson .Values.guard }}
configMap: {{ .Values.existingConfigMap | quote }}
secret: {{ .Values.auth.existingSecret | quote }}
databaseKey: {{ .Values.auth.existingSecretKeys.databaseUrl | quote }}
redisKey: {{ .Values.auth.existingSecretKeys.redisUrl | quote }}
sealKeys: {{ .Values.auth.sealKeys | quote }}
{{- end -}}

{{/* A pod that runs commands and ends. */}}
{{- define "sidecar-chart.podSecurity" -}}
restartPolicy: Never
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "sidecar-chart.command" -}}
- name: {{ .name }}
  image: {{ include "sidecar-chart.image" .root | quote }}
  {{- with .root.Values.image.pullPolicy }}
  imagePullPolicy: {{ . }}
  {{- end }}
  args: {{ toJson .args }}
  env:
    {{- include "sidecar.ledgerEnv" (include "sidecar-chart.pod" .root | fromYaml) | nindent 4 }}
  resources:
    {{- toYaml .root.Values.resources | nindent 4 }}
  securityContext:
    {{- include "sidecar.securityContext" .root | nindent 4 }}
  volumeMounts:
    {{- include .mounts .root | nindent 4 }}
{{- end -}}
