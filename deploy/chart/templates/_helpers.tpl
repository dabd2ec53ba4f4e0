{{- define "quorate.name" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains "quorate" .Release.Name -}}
{{- .Release.Name -}}
{{- else -}}
{{- printf "%s-quorate" .Release.Name -}}
{{- end -}}
{{- end -}}

{{- define "quorate.selector" -}}
app.kubernetes.io/name: quorate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "quorate.labels" -}}
{{ include "quorate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{- define "quorate.metadata" -}}
name: {{ include "quorate.name" . }}
labels:
  {{- include "quorate.labels" . | nindent 2 }}
{{- end -}}

{{- define "quorate.serviceAccount" -}}
{{- with .Values.serviceAccount -}}
{{- .name | default (ternary (include "quorate.name" $) "default" .create) -}}
{{- end -}}
{{- end -}}

{{- define "quorate.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The seconds that a pod has to end: runs have drain_timeout, and what follows 40 s. */ -}}
{{- define "quorate.grace" -}}
{{- $drain := (.Values.config.scheduler | default dict).drain_timeout | default "20s" -}}
{{- if contains "${" $drain -}}
{{- fail (printf "config.scheduler.drain_timeout is %s: the time that a pod has to end is computed from it; write a duration such as 20s" $drain) -}}
{{- end -}}
{{- $now := now -}}
{{- $needed := sub (mustDateModify (trim $drain) $now | unixEpoch) (unixEpoch $now) | add 40 -}}
{{- $grace := .Values.terminationGracePeriodSeconds | default $needed | int64 -}}
{{- if lt $grace $needed -}}
{{- fail (printf "terminationGracePeriodSeconds is %d: with a drain_timeout of %s a replica needs up to %d s to end; write so much, or remove it" $grace $drain $needed) -}}
{{- end -}}
{{- $grace -}}
{{- end -}}

{{- /* The settings that count from the next start: pods are replaced when they change. */ -}}
{{- define "quorate.settings" -}}
{{- $settings := omit .Values.config "jobs" "defaults" "calendars" -}}
{{- with omit (.Values.config.scheduler | default dict) "timezone" -}}
{{- $settings = set $settings "scheduler" . -}}
{{- else -}}
{{- $settings = unset $settings "scheduler" -}}
{{- end -}}
{{- toYaml $settings -}}
{{- end -}}

{{- /* The port of the dashboard, if other pods can reach it. */ -}}
{{- define "quorate.dashboardPort" -}}
{{- $listen := (.Values.config.http | default dict).listen | default "" -}}
{{- if and $listen (not (regexMatch "^(127\\.|localhost:|\\[::1\\])" $listen)) -}}
{{- regexFind "[0-9]+$" $listen -}}
{{- end -}}
{{- end -}}

{{- define "quorate.probesPort" -}}
{{- $listen := (.Values.config.http | default dict).probes_listen | default "" -}}
{{- if or (not (regexMatch ":[0-9]+$" $listen)) (regexMatch "^(127\\.|localhost:|\\[::1\\])" $listen) -}}
{{- fail (printf "config.http.probes_listen is %q: the kubelet has to reach it; write an address such as :8081" $listen) -}}
{{- end -}}
{{- regexFind "[0-9]+$" $listen -}}
{{- end -}}
