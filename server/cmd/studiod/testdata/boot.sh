# Boots a copy of the root directory STUDIO_DEBIAN that exists only in memory, in no network, with systemd, and runs the
# script $2 there. $1 is a directory that the script sees as /mnt. The exit code is that of the script, whose output is
# in /mnt/output. It needs root, systemd and cgroups of version 2.
set -eu
if [ "${3-}" != isolated ]; then
	group=$(findmnt --noheadings --first-only --types cgroup2 --output TARGET)/studiod-$$
	mkdir "$group"
	code=0
	sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$group" \
		unshare --mount --pid --fork --kill-child --uts --ipc --net --cgroup sh "$0" "$1" "$2" isolated || code=$?
	find "$group" -depth -type d -exec rmdir {} +
	exit $code
fi
memory=$1/copy root=$1/copy/root
mkdir -p "$memory"
mount -t tmpfs tmpfs "$memory"
mkdir -m 755 "$memory/upper" "$memory/work" "$root"
mount -t overlay overlay -o "lowerdir=$STUDIO_DEBIAN,upperdir=$memory/upper,workdir=$memory/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs tmpfs "$root/tmp" -o mode=1777
mount -t tmpfs tmpfs "$root/run" -o mode=755
mount -t tmpfs tmpfs "$root/dev" -o mode=755
for name in null zero full random urandom tty; do
	touch "$root/dev/$name"
	mount --bind "/dev/$name" "$root/dev/$name"
done
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t devpts devpts "$root/dev/pts" -o newinstance,ptmxmode=666
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
mount --bind "$1" "$root/mnt"
: >"$root/etc/machine-id"
mkdir -p "$root/run/systemd/system"
cat >"$root/run/systemd/system/script.service" <<END
[Unit]
SuccessAction=exit
FailureAction=exit
[Service]
Type=oneshot
ExecStart=/bin/sh -eu /mnt/$2
Environment=PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive
StandardOutput=truncate:/mnt/output
StandardError=inherit
END
# Not chroot, in which the kernel allows no user namespaces.
mkdir "$root/run/outside"
cd "$root"
pivot_root . run/outside
exec chroot . sh -c 'umount -l /run/outside && rmdir /run/outside && exec env -i container=copy PATH=/usr/sbin:/usr/bin \
	/lib/systemd/systemd --unit=script.service --log-target=null --show-status=0'
