#!/bin/sh
# dpkg passes "remove", "purge" or "upgrade". rpm, which has no purge, passes the number of versions that remain. After
# "remove", dpkg regards the package as installed before, so postinstall.sh does not enable the service again.
set -e
case "$1" in
purge | 0) rm -f /etc/systemd/system/multi-user.target.wants/studiod.service /etc/systemd/system/sockets.target.wants/studiod.socket ;;
esac
case "$1" in
purge)
	rm -rf /var/lib/studiod
	! getent passwd studiod >/dev/null || userdel studiod
	;;
remove | 0) [ ! -d /run/systemd/system ] || systemctl daemon-reload ;;
esac
