#!/bin/sh
# dpkg passes "configure" and the version that was configured before, if any. rpm passes the number of installed
# versions.
set -e
case "$1:$2" in
configure: | 1:) first=yes ;;
*) first=no ;;
esac

getent passwd studiod >/dev/null ||
	useradd --system --user-group --home-dir /var/lib/studiod --shell /usr/sbin/nologin --comment 'Avatar Studio' studiod
install -d -o studiod -g studiod -m 0700 /var/lib/studiod

if [ ! -d /run/systemd/system ]; then
	[ $first = no ] || cat <<'END'
systemd is not running. This command starts studiod and prints the link for the first operator:
  runuser -u studiod -- studiod serve --db sqlite:/var/lib/studiod/studio.db
END
	exit 0
fi

systemctl daemon-reload
[ $first = no ] || systemctl enable --quiet studiod || exit 0 # the operator has masked it
systemctl is-enabled --quiet studiod || exit 0 # the operator has disabled it
began=$(date '+%F %T')
systemctl restart studiod || systemctl status --no-pager studiod || exit 0
[ $first = yes ] || exit 0

# The journal may be some time behind.
for _ in $(seq 50); do
	! journalctl --unit studiod --since "$began" --output cat --quiet | grep -A 1 '^There is no operator yet' || exit 0
	sleep 0.1
done
echo 'This command shows the link for the first operator:'
echo '  journalctl --unit studiod'
