#!/bin/sh
# Writes the secrets that compose.yaml mounts. Containers read the files as users of their
# own, so the folder is closed and the files are not.
set -eu
cd "$(dirname "$0")"
mkdir -m 700 secrets
umask 022
password=$(od -An -tx1 -N24 /dev/urandom | tr -d ' \n')
echo "$password" >secrets/redis
cat >secrets/redis_acl <<EOF
user default on nopass -@all +ping
user quorate on >$password ~{quorate}:* ~quorate:node resetchannels -@all +eval +evalsha +info +time +get +mget +set +mset +del +exists +pttl +pexpire +hget +hmget +hgetall +hscan +hset +hdel +scan +zadd +zrem +zrange +zrangebyscore +zremrangebyrank +zscore
EOF
