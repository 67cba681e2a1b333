#!/bin/sh
# Backs up a PostgreSQL server so that it can be restored as of any time. Run it as the user of PostgreSQL (postgres), on the
# machine of the server:
#
#     postgres-backup.sh setup DIR            archive the write-ahead log (WAL) in DIR, each 5 minutes
#     postgres-backup.sh backup DIR [KEEP]    add a base backup, each day; keep the last KEEP (7) and their WAL
#     postgres-backup.sh restore DIR DATA TIME [PLACE [FLAG…]]
#
# DIR is an absolute path on a disk of another machine, such as a mounted one. It belongs to one server, and its files are
# not encrypted. The script connects like psql, as a superuser.
#
# restore creates the data directory DATA, which must be empty, as of TIME, which is "latest", or in UTC and has the form
# 2026-11-22T10:00 or 2026-11-22T10:00:05.250. With PLACE, the value of --backup of studiod, it also runs "studiod restore
# FLAG… PLACE@TIME" for the files. If it fails, it can be repeated. A restored server archives nothing: set up a new DIR.
set -eu
umask 077
export LC_ALL=C
self=$(cd "$(dirname "$0")" && pwd)/${0##*/}

fail() {
	echo "${0##*/}: $*" >&2
	exit "${code:-1}"
}

sql() {
	printf '%s;\n' "$@" | psql -XAtq -d "${PGDATABASE:-postgres}" -v ON_ERROR_STOP=1
}

# use prefers the programs of the version of a data directory. Debian has only some in its PATH.
use() {
	version=$(cat "$1/PG_VERSION")
	PATH=/usr/lib/postgresql/$version/bin:/usr/pgsql-$version/bin:$PATH
	command -v pg_ctl >/dev/null || fail "PostgreSQL $version is not installed"
}

bases() {
	for base in "$dir"/base/2*; do
		[ ! -e "$base" ] || echo "${base##*/}"
	done
}

setup() {
	sql 'SELECT' >/dev/null # connects
	mkdir -p "$dir"
	mkdir "$dir/wal" || fail "$dir has the backups of a server already"
	mkdir "$dir/base"
	sql "ALTER SYSTEM SET archive_mode = on" "ALTER SYSTEM SET archive_command = '$self archive $dir %p %f'" \
		"ALTER SYSTEM SET archive_timeout = '5min'" 'SELECT FROM pg_reload_conf()' >/dev/null || {
		rmdir "$dir/wal" "$dir/base"
		exit 1
	}
	[ "$(sql 'SHOW archive_mode')" = on ] || echo 'Restart PostgreSQL, which then archives its WAL.'
}

# archive stores the file $1 of the WAL as $2. PostgreSQL repeats it until it succeeds, and keeps the file until then.
archive() {
	[ -d "$dir/wal" ] || fail "$dir/wal is missing: is its disk mounted?"
	to=$dir/wal/$2.gz
	if [ -e "$to" ]; then # PostgreSQL crashed before it knew that
		gzip -dc "$to" | cmp -s - "$1" || fail "$to has other content: does another server use $dir?"
		return
	fi
	if ! { gzip -1c <"$1" >"$to.partial" && sync "$to.partial" && mv "$to.partial" "$to" && sync "$dir/wal"; }; then
		rm -f "$to.partial"
		fail "$2 is not archived"
	fi
}

# fetch copies the file $1 of the archive to $2. PostgreSQL takes a failure for the end of the WAL, and aborts if the code is
# greater than 125.
fetch() {
	from=$dir/wal/$1.gz
	if [ -e "$from" ]; then
		gzip -dc "$from" >"$2" || code=126 fail "$from cannot be restored"
		return
	fi
	case $1 in *[!0-9A-F]*) exit 1 ;; esac # the history of a timeline that does not exist
	[ ! -e "pg_wal/$1" ] || exit 1         # is in the base backup
	for later in "$dir/wal/$(expr "$1" : '\(........\)')"????????????????.gz; do
		[ ! -e "$later" ] || [ "$(printf '%s\n' "$from" "$later" | sort | tail -n 1)" = "$from" ] ||
			code=126 fail "$from is missing, although ${later##*/} is there"
	done
	exit 1
}

# await waits until all WAL up to now is archived.
await() {
	failures='SELECT failed_count FROM pg_stat_archiver'
	before=$(sql "$failures")
	wal=$(sql 'SELECT pg_walfile_name(pg_switch_wal())')
	for _ in $(seq 60); do
		[ ! -e "$dir/wal/$wal.gz" ] || return 0
		[ "$(sql "$failures")" = "$before" ] || break
		sleep 1
	done
	fail 'PostgreSQL does not archive its WAL; its log says why'
}

backup() {
	keep=${1:-7}
	[ "$keep" -gt 0 ] || fail 'KEEP must be positive'
	[ "$(sql 'SHOW archive_mode' 'SHOW archive_command')" = "on
$self archive $dir %p %f" ] || fail "PostgreSQL does not archive its WAL in $dir: run setup, and restart it"
	exec 9>"$dir/lock"
	flock -n 9 || fail 'another backup is running'
	partial=$dir/base/partial
	trap 'rm -rf "$partial"' EXIT
	rm -rf "$partial" # of a backup that was killed
	await
	pg_basebackup --no-password --checkpoint=fast --pgdata="$partial" || fail 'there is no new backup'
	use "$partial"
	pg_verifybackup --quiet "$partial" || fail 'there is no new backup'
	await
	now=$(sql "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC' + '1 ms', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS')")
	mv "$partial" "$dir/base/$now"
	sync "$dir/base"
	for old in $(bases | sort -r | tail -n "+$((keep + 1))"); do
		mv "$dir/base/$old" "$partial"
		rm -rf "$partial"
	done
	oldest=$dir/base/$(bases | head -n 1)
	pg_archivecleanup -x .gz "$dir/wal" "$(sed -n 's/^START WAL LOCATION: .*(file \(.*\))$/\1/p' "$oldest/backup_label")"
}

restore() {
	data=$1 time=${2%Z}
	shift 2
	case $data in
	/*[!A-Za-z0-9/._-]* | [!/]*) fail 'DATA must be an absolute path of letters, digits, and /._-' ;;
	esac
	target=
	if [ "$time" != latest ]; then
		echo "$time" | grep -Eqx '20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?' ||
			fail 'TIME must be latest, or in UTC and have the form 2006-01-02T15:04'
		target="-c recovery_target_time='$time UTC'"
	fi
	[ "$(id -u)" != 0 ] || fail 'run it as the user of PostgreSQL'
	base=$(bases | awk -v "time=$time" 'time == "latest" || $0 <= time' | tail -n 1)
	[ "$base" ] || fail 'there is no base backup of this time or before it'
	[ -z "$(ls -A "$data" 2>/dev/null)" ] || fail "$data is not empty"
	base=$dir/base/$base
	use "$base"
	pg_verifybackup --quiet "$base" || fail "$base is damaged; an earlier TIME needs an earlier base backup"

	scratch=$(mktemp -d)
	trap 'pg_ctl -D "$data" -m immediate stop >/dev/null 2>&1 || true; rm -rf "$scratch" "$data"' EXIT
	mkdir -p "$data"
	chmod 700 "$data"
	cp -R "$base/." "$data"
	sed -i '/^archive_/d' "$data/postgresql.auto.conf" # two servers must not share an archive
	touch "$data/recovery.signal"
	# This server is for the recovery only. Nobody can connect, and the configuration may be elsewhere or for another machine.
	echo 'local all all reject' >"$scratch/hba"
	: >"$scratch/conf"
	pg_ctl -D "$data" -l "$scratch/log" -w -o "$target -c restore_command='$self fetch $dir %f %p' \
		-c config_file=$scratch/conf -c hba_file=$scratch/hba -c listen_addresses= -c unix_socket_directories=$scratch \
		-c hot_standby=off -c ssl=off -c archive_mode=off -c recovery_target_action=promote" start >/dev/null 2>&1 || true
	until pg_controldata "$data" | grep -q 'cluster state: *in production'; do
		pg_ctl -D "$data" status >/dev/null || {
			grep -E "FATAL|${0##*/}:" "$scratch/log" >&2
			fail "nothing is restored: PostgreSQL does not get from $base to $time"
		}
		sleep 0.2
	done
	pg_ctl -D "$data" -m fast -w -t 31536000 stop >/dev/null
	at=$(sed -n 's/.*last completed transaction was at log time //p' "$scratch/log")
	trap 'rm -rf "$scratch"' EXIT
	echo "$data has the database with its last change at ${at:-${base##*/}}. Start PostgreSQL, and set up a new archive."
	[ $# -eq 0 ] || {
		place=$1
		shift
		studiod restore "$@" "$place@${time%.*}"
	}
}

command=${1:-}
dir=${2:-}
case $command:$# in
setup:2 | archive:4 | fetch:4 | backup:[23] | restore:[4-9] | restore:[1-9][0-9]) shift 2 ;;
*) fail 'usage: postgres-backup.sh setup DIR | backup DIR [KEEP] | restore DIR DATA TIME [PLACE [FLAG…]]' ;;
esac
case $dir.$self in
/*[!A-Za-z0-9/._-]* | [!/]*) fail 'DIR must be an absolute path of letters, digits, and /._-, like that of this script' ;;
esac
trap 'exit 1' HUP INT TERM
"$command" "$@"
