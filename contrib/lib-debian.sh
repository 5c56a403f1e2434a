# SPDX-License-Identifier: BSD-2-Clause
#
# What quickstart, check and .ci/run share: install what is missing on Debian
# (12, 13, or made from them), find the sources, build them in a folder of their
# own.  Sourced by bash, with $top set to the top of the source tree.

build_packages="autoconf automake gcc libc6-dev make pkg-config xz-utils
	libmicrohttpd-dev libgnutls28-dev libcurl4-openssl-dev libhiredis-dev
	libjansson-dev libuv1-dev libsodium-dev libzstd-dev zlib1g-dev
	libsystemd-dev libcmocka-dev libpq-dev librdkafka-dev"
run_packages="redis-server python3 curl ca-certificates"
# What quickstart --witness runs besides.
witness_packages="postgresql python3-psycopg"
# What contrib/check runs besides: a PostgreSQL and a pooler before it,
# python3-confluent-kafka (which has a Kafka for tests), what manuals and
# clients are tried with.
test_packages="openssl liblua5.1-0-dev redis-tools python3-requests mandoc
	groff-base postgresql pgbouncer python3-confluent-kafka python3-psycopg
	yamllint zsh python3-jsonschema"
# Besides, for contrib/check --all: models; the page's browser; what recipes are
# tried with; systemd-analyze, promtool; a Kafka is fetched with Maven.
all_packages="spin chromium chromium-driver nginx haproxy kcat systemd
	prometheus default-jdk-headless libpostgresql-jdbc-java maven
	python3-fastapi python3-uvicorn python3-httpx"
# build-deb's, besides those for building.
deb_packages="debhelper dpkg-dev fakeroot mandoc"
# The container's, besides those that the package depends on; the first one
# makes its user, without all of systemd.
container_packages="systemd-standalone-sysusers redis-server curl
	ca-certificates"

# Bold where a person looks.
say() {
	if [ -t 1 ]; then
		printf '\033[1m==> %s\033[0m\n' "$*"
	else
		printf '==> %s\n' "$*"
	fi
}

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "not root, and no sudo: ask somebody to run: $*"
	fi
}

# missing_packages NAME...: prints those that are not installed.
missing_packages() {
	local name
	for name; do
		dpkg-query -W -f '${db:Status-Status}\n' "$name" 2>/dev/null |
			grep -qx installed || printf '%s ' "$name"
	done
}

# The libraries that configure looks for, and their least versions.
wanted_libraries() {
	local need='ONCE_NEED(\[[A-Z0-9]*\], \[\(.*\)\], \[\(.*\)\], \['
	sed -n "s/^.*$need.*/  \\1 >= \\2/p" "$top/configure.ac" \
		"$top"/contrib/build-aux/m4/*.m4
}

# quietly FILE WORDS COMMAND...: runs a command whose output goes to the end of
# FILE; a terminal shows its last line, anything else has a line at the start
# and at the end.  If it fails, the end of FILE is shown.  A function that is
# run like this does not stop by set -e.
quietly() {
	local file=$1 words=$2 watcher='' status=0 start=$SECONDS before
	shift 2
	before=$(stat -c %s "$file" 2>/dev/null || echo 0)
	if [ -t 1 ]; then
		show_progress "$file" "$words" &
		watcher=$!
	else
		say "$words (output: $file)"
	fi
	"$@" >>"$file" 2>&1 </dev/null || status=$?
	if [ -n "$watcher" ]; then
		kill "$watcher" 2>/dev/null || true
		wait "$watcher" 2>/dev/null || true
		printf '\r\033[K'
	fi
	if [ $status != 0 ]; then
		say "failed: $words (all that it said: $file)" >&2
		tail -c +$((before + 1)) "$file" | tail -n 40 >&2
		return $status
	fi
	say "$words: $((SECONDS - start)) s"
}

# Until it is killed, or whoever started it is gone.
show_progress() {
	local start=$SECONDS last
	while kill -0 $$ 2>/dev/null; do
		last=$(tail -n 1 "$1" 2>/dev/null | tr -cd '[:print:]')
		last="==> $2, $((SECONDS - start)) s  $last"
		printf '\r\033[K%s' "${last:0:79}"
		sleep 1
	done
}

# need_packages NAME...: installs those that are not installed, and that this
# release has.
need_packages() {
	local missing name file known=''
	if ! command -v dpkg-query >/dev/null; then
		say "this is no Debian: what is missing is yours to install"
		printf 'By the names of Debian: %s\nLibraries:\n%s\n' "$*" \
			"$(wanted_libraries)"
		return
	fi
	missing=$(missing_packages "$@")
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
		die "not root, and no sudo; ask somebody to run:" \
			"apt-get install $missing"
	fi
	as_root true # asks for a password where it is seen
	file=$(mktemp)
	quietly "$file" "apt-get update" apt_get update \
		-o APT::Update::Error-Mode=any
	for name in $missing; do
		if apt-cache show "$name" >/dev/null 2>&1; then
			known="$known $name"
		else
			say "apt knows no $name here: it goes on without"
		fi
	done
	# shellcheck disable=SC2086 # a list of names
	[ -z "$known" ] || quietly "$file" \
		"apt-get install of $(wc -w <<<"$known") packages" \
		without_services $known
	rm -f "$file"
}

# apt_get ARGUMENTS...: whoever else installs something is waited for, five
# minutes: dpkg's lock by the option, those of lists and archives here.
apt_get() {
	local said tries=0 status
	said=$(mktemp)
	while :; do
		status=0
		as_root env DEBIAN_FRONTEND=noninteractive apt-get -q \
			-o DPkg::Lock::Timeout=300 "$@" </dev/null \
			2>"$said" || status=$?
		cat "$said" >&2
		tries=$((tries + 1))
		if [ $status = 0 ] || [ $tries -ge 100 ] ||
			! grep -q 'Could not get lock' "$said"; then
			break
		fi
		echo "another package manager is at work: waiting"
		sleep 3
	done
	rm -f "$said"
	return $status
}

# Installs packages, and starts no service of theirs: the gateway has a
# private Redis of its own and needs none of the system's.
without_services() {
	local policy=/usr/sbin/policy-rc.d status=0
	# One that is left of us by a kill is known by its words.
	if [ ! -e $policy ] || grep -q "onceproxy's contrib" $policy; then
		printf '#!/bin/sh\n# %s\nexit 101\n' \
			"onceproxy's contrib installs packages" |
			as_root tee $policy >/dev/null
		as_root chmod 755 $policy
		(
			trap 'as_root rm -f $policy' EXIT
			trap 'exit 130' INT TERM
			apt_get install -y --no-install-recommends "$@"
		) || status=$?
	else
		apt_get install -y --no-install-recommends "$@" || status=$?
	fi
	case " $* " in
	*" redis-server "*)
		if [ -d /run/systemd/system ]; then
			as_root systemctl disable -q redis-server || true
		fi
		;;
	esac
	return $status
}

# source_for BUILD_DIR: prints the folder to configure from.  It is $top,
# but for a tree that was configured in place: make would mix that tree's
# objects up with ours, so a clean copy is used.
source_for() {
	if [ ! -e "$top/config.status" ]; then
		printf '%s\n' "$top"
		return
	fi
	git -C "$top" rev-parse --git-dir >/dev/null 2>&1 ||
		die "this tree was configured in place: make distclean first"
	mkdir -p "$1/source"
	(cd "$top" && git ls-files -co --exclude-standard -z |
		while IFS= read -r -d '' file; do
			[ ! -e "$file" ] || printf '%s\0' "$file"
		done | tar -c --null -T -) | tar -x -C "$1/source"
	printf '%s\n' "$1/source"
}

# The files that configure is made of.
autotools_input() {
	find "$1/configure.ac" "$1/Makefile.am" "$1/contrib/build-aux/m4" \
		"$1"/src "$1"/tests "$1"/etc "$1"/contrib \
		\( -name '*.ac' -o -name '*.am' -o -name '*.inc' \
		-o -name '*.m4' \) -newer "$1/configure" -print -quit
}

# build_in DIR [configure's arguments...]: leaves a built tree in DIR, and
# does only what is not done yet.  $build_goals: what make is to build, else
# all.  What the tools say is in DIR/build.log.
build_in() {
	local dir=$1 source log
	shift
	mkdir -p "$dir"
	dir=$(cd "$dir" && pwd)
	log=$dir/build.log
	: >"$log"
	source=$(source_for "$dir")
	if [ ! -e "$source/configure" ] || [ -n "$(autotools_input "$source")" ]
	then
		quietly "$log" autoreconf autoreconf -fi "$source"
		touch "$source/configure"
	fi
	# Of a tree that was moved, what make knows of files is wrong.
	if [ "$dir" != "$top" ] && [ -e "$dir/.configured" ] &&
		[ "$(head -n 1 "$dir/.configured")" != "$source" ]; then
		find "$dir" -mindepth 1 -maxdepth 1 ! -name build.log \
			! -name source -exec rm -rf {} +
	fi
	if ! same_arguments "$dir" "$source" "$@"; then
		rm -f "$dir/config.cache" "$dir/.configured"
		quietly "$log" "configure${*:+ $*}" env -C "$dir" \
			"$source/configure" "$@"
		# A config.h that is older than its stamp is looked after each
		# time, and whatever is compiled from it waits: the tests' own
		# programs would run behind all others, however long they take.
		[ "$dir/config.h" -ot "$dir/config.status" ] ||
			touch -r "$dir/config.h" "$dir/stamp-h1"
		printf '%s\n' "$source" "$@" >"$dir/.configured"
	fi
	# shellcheck disable=SC2086 # a list of names
	quietly "$log" make make -C "$dir" -j"$(nproc)" ${build_goals-}
}

# same_arguments DIR SOURCE ARGUMENTS...: was DIR configured like this?
same_arguments() {
	local dir=$1
	shift
	[ -e "$dir/config.status" ] && [ -e "$dir/.configured" ] &&
		printf '%s\n' "$@" | cmp -s - "$dir/.configured"
}

# fetch_kafka BUILD_DIR: has Maven copy the Kafka of the tests to
# tests/kafka/jars there, unless it is there already.
fetch_kafka() {
	local to=$1/tests/kafka from=$top/tests/kafka
	mkdir -p "$to"
	if [ -d "$to/jars" ] && cmp -s "$from/pom.xml" "$to/pom.xml"; then
		return
	fi
	say "mvn dependency:copy-dependencies"
	rm -rf "$to/jars"
	cp "$from/pom.xml" "$to"
	(cd "$to" && mvn -B -C -ntp -q dependency:copy-dependencies \
		</dev/null) || {
		rm -rf "$to/jars"
		return 1
	}
}
