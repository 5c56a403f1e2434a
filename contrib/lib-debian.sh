# SPDX-License-Identifier: BSD-2-Clause
#
# What quickstart, check and .ci/run share: install what is missing on Debian,
# find the sources, build them in a folder of their own.  Sourced by bash,
# with $top set to the top of the source tree.

build_packages="autoconf automake gcc libc6-dev make pkg-config xz-utils
	libmicrohttpd-dev libgnutls28-dev libcurl4-openssl-dev libhiredis-dev
	libjansson-dev libuv1-dev libsodium-dev libzstd-dev libsystemd-dev
	libcmocka-dev libpq-dev librdkafka-dev"
run_packages="redis-server python3 curl ca-certificates"
# What contrib/check runs besides: a PostgreSQL, python3-confluent-kafka (which
# has a Kafka for tests), what manuals and clients are tried with.
test_packages="openssl liblua5.1-0-dev redis-tools python3-requests mandoc
	groff-base postgresql python3-confluent-kafka yamllint zsh
	python3-jsonschema"
# Besides, for contrib/check --all: models; the page's browser; what recipes are
# tried with; systemd-analyze, promtool; a Kafka is fetched with Maven.
all_packages="spin chromium chromium-driver nginx haproxy kcat systemd
	prometheus default-jre-headless maven"
# build-deb's, besides those for building.
deb_packages="debhelper dpkg-dev fakeroot"
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
		die "not root, and no sudo to run: $*"
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

# need_packages NAME...: installs those that are not installed.
need_packages() {
	local missing
	command -v dpkg-query >/dev/null ||
		die "this is no Debian; install by hand: $*"
	missing=$(missing_packages "$@")
	[ -n "$missing" ] || return 0
	say "installing $missing"
	as_root apt-get update -q </dev/null
	# shellcheck disable=SC2086 # a list of names
	without_services $missing
}

# Installs packages, and starts no service of theirs: the gateway has a
# private Redis of its own and needs none of the system's.
without_services() {
	local policy=/usr/sbin/policy-rc.d ours='' status=0
	if [ ! -e $policy ]; then
		ours=yes
		printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
		as_root chmod 755 $policy
	fi
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
		--no-install-recommends "$@" </dev/null || status=$?
	[ -z "$ours" ] || as_root rm -f $policy
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
# all.
build_in() {
	local dir=$1 source
	shift
	mkdir -p "$dir"
	dir=$(cd "$dir" && pwd)
	source=$(source_for "$dir")
	if [ ! -e "$source/configure" ] || [ -n "$(autotools_input "$source")" ]
	then
		say "autoreconf"
		(cd "$source" && autoreconf -fi)
		touch "$source/configure"
	fi
	if ! same_arguments "$dir" "$source" "$@"; then
		say "configure $*"
		rm -f "$dir/config.cache" "$dir/.configured"
		(cd "$dir" && "$source/configure" -q "$@")
		# A config.h that is older than its stamp is looked after each
		# time, and whatever is compiled from it waits: the tests' own
		# programs would run behind all others, however long they take.
		[ "$dir/config.h" -ot "$dir/config.status" ] ||
			touch -r "$dir/config.h" "$dir/stamp-h1"
		printf '%s\n' "$source" "$@" >"$dir/.configured"
	fi
	say "make"
	# shellcheck disable=SC2086 # a list of names
	make -C "$dir" -j"$(nproc)" ${build_goals-}
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

# quietly WORDS FILE COMMAND...: runs it with its output in a file, whose end is
# shown where it fails.
quietly() {
	local words=$1 file=$2 status=0
	shift 2
	say "$words (output in $file)"
	mkdir -p "$(dirname "$file")"
	"$@" >"$file" 2>&1 </dev/null || status=$?
	[ $status = 0 ] || {
		tail -n 40 "$file"
		say "$words: ended with status $status; all of it is in $file"
	}
	return $status
}
