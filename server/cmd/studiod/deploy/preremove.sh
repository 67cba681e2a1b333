#!/bin/sh
# dpkg passes "remove" or "upgrade". rpm passes the number of versions that remain. After an upgrade, postinstall.sh
# restarts the service.
set -e
case "$1" in
remove | 0) [ ! -d /run/systemd/system ] || systemctl stop studiod.socket studiod ;;
esac
