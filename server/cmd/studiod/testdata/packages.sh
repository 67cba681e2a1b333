# Installs, upgrades, downgrades, removes and purges the packages 1.0.0 and 1.1.0 in /mnt/packages, on a Debian system
# that runs systemd and may be changed.
rm -rf /var/lib/man-db/auto-update /var/lib/apt/lists/* # the indexes of all manual pages and packages take seconds
apt() {
	apt-get -qq -o APT::Sandbox::User=root --no-install-recommends "$@" 2>&1
}
old=/mnt/packages/studiod_1.0.0.deb new=$(echo /mnt/packages/studiod_1.1.0_*.deb)
fails() {
	if "$@"; then exit 1; fi
}
url=http://127.0.0.1:8080
db=sqlite:/var/lib/studiod/studio.db
do_as() { runuser -u studiod -- "$@"; }

apt install "$old" | tee /tmp/install
grep "$url/console/" /tmp/install >/dev/null # the link for the first operator
studiod health
[ "$(stat -c '%U %a' /var/lib/studiod)" = 'studiod 700' ]
echo 'correct horse battery staple' | do_as studiod user add --db "$db" ada@example.com >/dev/null
echo 'STUDIO_LOG_FORMAT=json' >>/etc/studiod/studiod.env
install -d -o studiod /srv/backups
echo 'STUDIO_BACKUP=file:/srv/backups' >>/etc/studiod/studiod.env
studiod keyfile rotate --db "$db" # root leaves a file that the service can read
systemctl restart studiod
studiod health

# However often it fails to start, the service and its socket are there when its database is.
echo 'STUDIO_DB=postgres://nobody@127.0.0.1:1/none' >>/etc/studiod/studiod.env
for _ in $(seq 7); do
	fails systemctl restart studiod
done
sed -i '/STUDIO_DB=postgres:/d' /etc/studiod/studiod.env
curl --silent --show-error --fail --max-time 30 --output /dev/null "$url/console/login"

for file in man/man1/studiod.1.gz man/man1/studio.1.gz bash-completion/completions/studiod fish/vendor_completions.d/studiod.fish zsh/vendor-completions/_studiod; do
	[ -s "/usr/share/$file" ]
done

# The unit allows the renderer and its sandbox.
espeak-ng -w /tmp/hello.wav 'Good morning.'
workspace=$(do_as studiod workspace add --db "$db" Team)
do_as studiod workspace member --db "$db" "$workspace" ada@example.com
STUDIO_TOKEN=$(do_as studiod key add --db "$db" ada@example.com test) STUDIO_BASE_URL=$url STUDIO_WORKSPACE=$workspace
export STUDIO_TOKEN STUDIO_BASE_URL STUDIO_WORKSPACE
studio lipsync create --video /mnt/presenter.jpg --audio /tmp/hello.wav --watch | tee /tmp/lipsync
studio lipsync download "$(grep -oE '[0-9a-f]{8}-[0-9a-f-]{27}' /tmp/lipsync | head -n 1)" -o /tmp/hello.mp4
ffprobe -v error -show_entries stream=codec_type -of csv=p=0 /tmp/hello.mp4 | sort | tr '\n' ' ' | grep 'audio video'
fails sh -c 'journalctl --unit studiod --quiet | grep "no sandbox"'
ls /srv/backups/db/*.age

# keeps checks that a version runs with the settings, and with the users in its other arguments.
keeps() {
	[ "$(dpkg-query --show --showformat '${Version}' studiod)" = "$1" ]
	shift
	grep -qx 'STUDIO_LOG_FORMAT=json' /etc/studiod/studiod.env
	studiod health
	[ "$(do_as studiod user list --db "$db" | grep -o '[a-z]*@example.com' | sort | tr '\n' ' ')" = "$* " ]
}

load=
# Clients with a new connection for each request, and with one for all, while the package is upgraded.
for connection in close keep-alive; do
	stdbuf --output=L curl --no-progress-meter --rate 100/s --header "Connection: $connection" --output /dev/null --write-out '%{http_code} %{time_total}\n' \
		"$url/console/login?[1-100000]" >"/tmp/$connection" 2>&1 &
	load="$load $!"
done
apt install "$new"
for connection in close keep-alive; do
	count=$(wc -l <"/tmp/$connection")
	for _ in $(seq 100); do
		[ "$(wc -l <"/tmp/$connection")" -lt $((count + 50)) ] || break
		sleep 0.1
	done
done
kill $load
for connection in close keep-alive; do
	awk '$1 == 200 { if ($2 > slowest) slowest = $2; next } { print; failed = 1 }
		END { print NR " requests, the slowest took " slowest " s"; exit failed || NR < 100 }' "/tmp/$connection"
done
keeps 1.1.0 ada@example.com

echo 'correct horse battery staple' | do_as studiod user add --db "$db" eve@example.com >/dev/null
apt install --allow-downgrades -y "$old"
keeps 1.0.0 ada@example.com eve@example.com

# systemd opens the ports of --domain.
printf 'STUDIO_DOMAIN=studio.example.com\nSTUDIO_ACME_DIRECTORY=https://127.0.0.1:1/dir\n' >>/etc/studiod/studiod.env
mkdir /etc/systemd/system/studiod.socket.d
printf '[Socket]\nListenStream=\nListenStream=443\nListenStream=80\n' >/etc/systemd/system/studiod.socket.d/override.conf
systemctl daemon-reload
systemctl restart studiod.socket
curl --silent --output /dev/null --write-out '%{http_code} %{redirect_url}\n' http://127.0.0.1/ | grep '^308 https://studio.example.com/'
sed -i '/STUDIO_DOMAIN/d; /STUDIO_ACME/d' /etc/studiod/studiod.env
rm -r /etc/systemd/system/studiod.socket.d

apt remove -y studiod
[ ! -e /usr/bin/studiod ]
[ -s /var/lib/studiod/studio.db ]
grep -qx 'STUDIO_LOG_FORMAT=json' /etc/studiod/studiod.env
apt install "$old"
keeps 1.0.0 ada@example.com eve@example.com
apt purge -y studiod
[ ! -e /var/lib/studiod ] && [ ! -e /etc/studiod ]
fails getent passwd studiod
