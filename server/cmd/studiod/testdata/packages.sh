# Installs, upgrades, downgrades, removes and purges the packages 1.0.0 and 1.1.0 in the directory $1. It needs a Debian
# system that may be changed.
set -eu
export DEBIAN_FRONTEND=noninteractive
rm -f /var/lib/man-db/auto-update # the index of all manual pages takes seconds
apt() {
	apt-get -qq -o APT::Sandbox::User=root --no-install-recommends "$@" 2>&1
}
old=$(echo "$1"/studiod_1.0.0_*.deb) new=$(echo "$1"/studiod_1.1.0_*.deb)
fails() {
	if "$@"; then exit 1; fi
}
db=sqlite:/var/lib/studiod/studio.db

apt install "$old" >/tmp/install
grep -A 1 'link for the first operator' /tmp/install
serve=$(tr -d '\r' </tmp/install | sed -n 's/^  runuser/runuser/p') # dpkg writes to a terminal of apt

# serves checks that the command works that the installation prints.
serves() {
	$serve >/tmp/serve 2>&1 &
	for _ in $(seq 100); do
		! studiod health >/dev/null 2>&1 || break
		sleep 0.1
	done
	studiod health || { cat /tmp/serve; exit 1; }
	kill $!
	wait $! || true # runuser ends by the signal, after studiod
}
serves
grep 'http://127.0.0.1:8080/console/' /tmp/serve >/dev/null
[ "$(stat -c '%U %a' /var/lib/studiod)" = 'studiod 700' ]
echo 'correct horse battery staple' | runuser -u studiod -- studiod user add --db "$db" ada@example.com >/dev/null
echo 'STUDIO_DOCS=false' >>/etc/studiod/studiod.env

keeps() {
	[ "$(dpkg-query --show --showformat '${Version}' studiod)" = "$1" ]
	grep -qx 'STUDIO_DOCS=false' /etc/studiod/studiod.env
	runuser -u studiod -- studiod user list --db "$db" | grep -q ada@example.com
	serves
	fails grep 'There are no users' /tmp/serve
}
apt install "$new"
keeps 1.1.0
apt install --allow-downgrades -y "$old"
keeps 1.0.0
apt remove -y studiod
[ ! -e /usr/bin/studiod ]
[ -s /var/lib/studiod/studio.db ]
grep -qx 'STUDIO_DOCS=false' /etc/studiod/studiod.env
apt install "$new"
keeps 1.1.0
apt purge -y studiod
[ ! -e /var/lib/studiod ] && [ ! -e /etc/studiod ]
fails getent passwd studiod
