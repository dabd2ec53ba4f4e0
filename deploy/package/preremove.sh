#!/bin/sh
# Stops the service when its package is removed: "remove" says so in deb, "0" in rpm.
set -e
case $1 in remove | 0) ;; *) exit 0 ;; esac
if [ -d /run/systemd/system ]; then
  systemctl disable --now quorate.service
fi
