#!/bin/sh
# dpkg passes "upgrade", also for a downgrade. rpm passes the number of versions that will be installed.
set -e
case "$1" in
upgrade | 2) [ ! -x /usr/sbin/studiod-rollback ] || studiod-rollback --save ;;
esac
