#!/bin/sh
# Makes the user of the service, and lets it read its configuration. A replica that runs
# is replaced by the new version; nothing is started that did not run.
set -e
systemd-sysusers quorate.conf
for path in /etc/quorate /etc/quorate/config.yaml; do
  [ ! -e "$path" ] || chgrp quorate "$path"
done
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart quorate.service
fi
