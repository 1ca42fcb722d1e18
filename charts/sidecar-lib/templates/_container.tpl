{{/*
What sidecar inject would add, for charts that you own. Each template takes a dict:

  name       the workload's name; ConfigMap and Secret are NAME-sidecar unless configMap and secret say otherwise
  image      the sidecar's image
  port       the application's port
  ledger     SIDECAR_NAMESPACE; default: name
  guard      list of path prefixes; default: [/webhooks]
  native     true (default): an init container that keeps running, which needs Kubernetes 1.29; false: a container, which belongs
             below containers and not below initContainers
  sealKeys   name of the Secret's key that is the file of seal keys; default: nothing is sealed
  env        list of further {name, value}
  resources  default: as sidecar inject has them

    initContainers:
      {{- include "sidecar.container" (dict "name" "web" "image" .Values.sidecar.image "port" 8080) | nindent 8 }}
    volumes:
      {{- include "sidecar.volumes" (dict "name" "web") | nindent 8 }}

The Service needs targetPort: {{ include "sidecar.servicePort" . }}, as a number: names of ports of init containers are
resolved differently by different versions of Kubernetes.
*/}}

{{- define "sidecar.servicePort" -}}8700{{- end -}}

{{- define "sidecar.configMap" -}}{{ (get . "configMap") | default (printf "%s-sidecar" .name) }}{{- end -}}
{{- define "sidecar.secret" -}}{{ (get . "secret") | default (printf "%s-sidecar" .name) }}{{- end -}}

{{/* Of the pod template: kubectl logs and exec should mean the application where the sidecar is a plain container. */}}
{{- define "sidecar.podAnnotations" -}}
kubectl.kubernetes.io/default-container: {{ .container | quote }}
{{- end -}}

{{/* Connections to the ledger: the part of the environment that every sidecar command needs. */}}
{{- define "sidecar.ledgerEnv" -}}
- name: SIDECAR_NAMESPACE
  value: {{ (get . "ledger") | default .name | quote }}
- name: SIDECAR_GUARD
  value: {{ join "," ((get . "guard") | default (list "/webhooks")) | quote }}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ include "sidecar.secret" . }}
      key: {{ (get . "databaseKey") | default "database-url" }}
- name: REDIS_URL
  valueFrom:
    secretKeyRef:
      name: {{ include "sidecar.secret" . }}
      key: {{ (get . "redisKey") | default "redis-url" }}
      optional: true
{{- with (get . "sealKeys") }}
- name: SIDECAR_SEAL_KEY_FILE
  value: {{ printf "/run/secrets/%s" . | quote }}
{{- end }}
{{- end -}}

{{- define "sidecar.securityContext" -}}
allowPrivilegeEscalation: false
capabilities:
  drop:
    - ALL
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "sidecar.volumeMounts" -}}
- name: sidecar-config
  mountPath: /etc/sidecar
  readOnly: true
{{ include "sidecar.secretsMount" . }}
{{- end -}}

{{- define "sidecar.secretsMount" -}}
- name: sidecar-secrets
  mountPath: /run/secrets
  readOnly: true
{{- end -}}

{{- define "sidecar.volumes" -}}
- name: sidecar-config
  configMap:
    name: {{ include "sidecar.configMap" . }}
{{ include "sidecar.secretsVolume" . }}
{{- end -}}

{{- define "sidecar.secretsVolume" -}}
- name: sidecar-secrets
  secret:
    secretName: {{ include "sidecar.secret" . }}
{{- end -}}

{{- define "sidecar.container" -}}
- name: sidecar
  image: {{ required "sidecar.container needs image" (get . "image") | quote }}
  {{- if ne (toString (get . "native")) "false" }}
  restartPolicy: Always
  {{- end }}
  args:
    - run
  ports:
    - name: sc-webhook
      containerPort: 8700
    - name: sc-probe
      containerPort: 8702
  env:
    - name: SIDECAR_LISTEN
      value: ":8700"
    - name: SIDECAR_ADMIN_LISTEN
      value: "127.0.0.1:8701"
    - name: SIDECAR_PROBE_LISTEN
      value: ":8702"
    - name: SIDECAR_UPSTREAM
      value: {{ printf "http://localhost:%v" (required "sidecar.container needs port" (get . "port")) | quote }}
    {{- include "sidecar.ledgerEnv" . | nindent 4 }}
    {{- with (get . "env") }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  resources:
    {{- if (get . "resources") }}
    {{- toYaml (get . "resources") | nindent 4 }}
    {{- else }}
    requests:
      cpu: 50m
      memory: 64Mi
    limits:
      cpu: "1"
      memory: 256Mi
    {{- end }}
  startupProbe:
    httpGet:
      path: /livez
      port: 8702
    periodSeconds: 1
    failureThreshold: 60
  readinessProbe:
    httpGet:
      path: /readyz
      port: 8702
    periodSeconds: 5
    failureThreshold: 2
  livenessProbe:
    httpGet:
      path: /livez
      port: 8702
    periodSeconds: 10
    failureThreshold: 6
  securityContext:
    {{- include "sidecar.securityContext" . | nindent 4 }}
  volumeMounts:
    {{- include "sidecar.volumeMounts" . | nindent 4 }}
{{- end -}}
