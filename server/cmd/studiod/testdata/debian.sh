# Installs a Debian in memory, and tests there the packages with systemd, and the container image. It runs in the root
# of the repository. If the machine does not allow this, or the packages of Debian are not reachable, it says so and
# succeeds. Its processes and mounts are in namespaces, which end with it, also if it is killed.
set -eu
here=server/cmd/studiod/testdata
skip() {
	echo "not tested: the packages and the container image, because $*"
	exit 0
}

if [ "${1-}" != isolated ]; then
	[ "$(id -u)" = 0 ] || skip 'this needs root'
	for program in mmdebstrap buildah runc unshare setpriv findmnt; do
		command -v $program >/dev/null || skip "$program is not installed"
	done
	groups=$(findmnt --noheadings --first-only --types cgroup2 --output TARGET) || skip 'there are no cgroups of version 2'
	# Those of a script that was killed are empty.
	find "$groups" -depth -path "$groups/studiod-check-*" -type d -exec rmdir {} + 2>/dev/null || true
	group=$groups/studiod-check-$$
	mkdir "$group" 2>/dev/null || skip "$groups is read-only"
	memory=$(mktemp -d) child='' code=0
	trap '[ -z "$child" ] || kill -KILL "$child"' HUP INT TERM
	setpriv --pdeathsig KILL sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$group" \
		unshare --mount --pid --fork --kill-child --mount-proc --cgroup sh "$0" isolated "$memory" &
	child=$!
	wait "$child" || code=$?
	for _ in $(seq 100); do # the kernel ends the other processes after the first
		! find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || break
		sleep 0.1
	done
	rmdir "$memory"
	exit $code
fi

memory=$2
{
	mount -t tmpfs tmpfs "$memory" -o mode=755 &&
		mkdir -m 755 "$memory/debian" "$memory/tmp" "$memory/lower" "$memory/upper" "$memory/work" "$memory/programs" "$memory/files" "$memory/files/packages" &&
		mount -t overlay overlay -o "lowerdir=$memory/lower,upperdir=$memory/upper,workdir=$memory/work" "$memory/tmp" && umount "$memory/tmp" &&
		mount -t devpts devpts "$memory/tmp" -o newinstance && umount "$memory/tmp" &&
		umount --recursive --lazy /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && mkdir /sys/fs/cgroup/test && rmdir /sys/fs/cgroup/test &&
		unshare --net --uts --ipc true
} 2>/dev/null || skip 'this machine does not allow mounts, cgroups or namespaces'
[ "$(awk '$1 == "MemAvailable:" { print int($2 / 1024 / 1024) }' /proc/meminfo)" -ge 4 ] || skip 'this needs 4 GiB of memory'
export TMPDIR="$memory/tmp" CONTAINERS_STORAGE_CONF="$memory/storage.conf"
printf '[storage]\ndriver = "overlay"\ngraphroot = "%s/images"\nrunroot = "%s/containers"\n' "$memory" "$memory" >"$CONTAINERS_STORAGE_CONF"

programs() {
	go build -trimpath -ldflags='-s -w' -o "$memory/programs/" ./server/cmd/studiod ./server/cmd/studio-render ./client/cmd/studio
	cp "$memory/programs/studio" "$here/presenter.jpg" "$here/image.sh" "$here/packages.sh" "$memory/files/"
	make --no-print-directory package PROGRAMS="$memory/programs" ARCH="$(go env GOARCH)" VERSION=1.1.0 TO="$memory/files/packages"
	rm "$memory"/files/packages/*.rpm # is only built
	# The earlier version has the same files, which take long to compress.
	dpkg-deb --raw-extract "$memory"/files/packages/*.deb "$memory/earlier"
	sed -i 's/^Version: .*/Version: 1.0.0/' "$memory/earlier/DEBIAN/control"
	dpkg-deb -Znone --root-owner-group --build "$memory/earlier" "$memory/files/packages/studiod_1.0.0.deb"
	rm -r "$memory/earlier"
}

image() {
	base=$(buildah from scratch)
	cp -a "$memory/debian/." "$(buildah mount "$base")" # which "buildah add" takes several times as long for
	buildah commit --quiet --rm "$base" localhost/studiod-base
	make --no-print-directory image PROGRAMS="$memory/programs"
	container=$(buildah from localhost/studiod)
	[ "$(buildah inspect --format '{{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.Cmd}}' "$container")" = '[studiod] [serve]' ]
	buildah run --isolation oci --runtime runc --network none --volume "$memory/files:/mnt:ro" "$container" -- bash /mnt/image.sh
}

# in_background runs a function, whose output await prints if it fails.
in_background() {
	(set -ex && "$1") >"$memory/$1.log" 2>&1 &
	eval "$1=$!"
}
await() {
	eval "wait \$$1" && return
	cat "$memory/$1.log"
	echo "$1: failed"
	exit 1
}

in_background programs
packages=$(sed -n 's/.* apt-get install -y --no-install-recommends \([^\\]*\).*/\1/p' server/cmd/studiod/deploy/Dockerfile)
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Codename: bookworm' 'Component: main' | head -n 1)
# Without documents and drivers of graphics cards. --dpkgopt would filter the first packages with Python.
timeout 600 mmdebstrap --verbose --variant=minbase --include="systemd-sysv dbus curl $packages" --skip=cleanup/apt/lists \
	--aptopt='Acquire::Languages "none"' --extract-hook='printf "path-exclude=%s\n" "/usr/share/doc/*" "/usr/share/locale/*" \
		"/usr/lib/*/dri/*" "/usr/lib/*/libLLVM*" "/usr/lib/*/libz3*" >"$1/etc/dpkg/dpkg.cfg.d/exclude"' \
	bookworm "$memory/debian" ${mirror:+"$mirror"} >"$memory/debian.log" 2>&1 || {
	code=$?
	tail -n 20 "$memory/debian.log"
	[ $code != 124 ] || skip 'Debian was not installed in 10 minutes'
	! grep -Eq '^E: (apt-get update .* failed$|Failed to fetch|Unable to fetch)' "$memory/debian.log" || skip 'packages of Debian are not reachable'
	exit 1
}
await programs
in_background image
STUDIO_DEBIAN="$memory/debian" sh "$here/boot.sh" "$memory/files" packages.sh || { cat "$memory/files/output"; exit 1; }
await image
echo 'tested: the packages and the container image'
