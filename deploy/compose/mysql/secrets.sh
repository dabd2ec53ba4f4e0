#!/bin/sh
# Writes the secret that compose.yaml mounts. Containers read the file as users of their
# own, so the folder is closed and the file is not.
set -eu
cd "$(dirname "$0")"
mkdir -m 700 secrets
umask 022
od -An -tx1 -N24 /dev/urandom | tr -d ' \n' >secrets/mysql
