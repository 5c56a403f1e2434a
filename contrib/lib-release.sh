# SPDX-License-Identifier: BSD-2-Clause
#
# contrib/check in another release of Debian: a bare one, made by debootstrap
# below build/, in which everything but the kernel and the network is its own.
# Sourced by contrib/check, after lib-debian.sh.

# check_in_release NAME ARGUMENTS...: runs contrib/check there with these
# arguments, but for --release, on a copy of this tree; warnings are errors.
check_in_release() {
	local name=$1 root=$top/build/$1 arguments=(--werror)
	shift
	while [ $# -gt 0 ]; do
		case $1 in
		--release) shift ;;
		--build-dir) die "--release has its own folder, build/$name" ;;
		*) arguments+=("$1") ;;
		esac
		shift
	done
	make_release "$name" "$root"
	copy_tree "$root/onceproxy"
	enter_release "$root" /onceproxy/contrib/check "${arguments[@]}"
}

# make_release NAME ROOT: has a bare Debian in ROOT, unless there is one.
make_release() {
	local name=$1 root=$2 mirror
	[ ! -e "$root/.complete" ] || return 0
	need_packages debootstrap
	mirror=$(apt-get indextargets --format '$(REPO_URI)' \
		'Created-By: Packages' | grep -m 1 '/debian/*$') || true
	as_root rm -rf --one-file-system "$root"
	mkdir -p "$root"
	quietly "$root.log" "debootstrap $name" as_root debootstrap \
		--variant=minbase "$name" "$root" \
		"${mirror:-http://deb.debian.org/debian}"
	# How packages are fetched here they are fetched there.
	apt-config dump | grep '^Acquire::' |
		as_root tee "$root/etc/apt/apt.conf.d/acquire" >/dev/null
	as_root touch "$root/.complete"
}

# copy_tree TO: what git knows of this tree, and what is new in it; a build
# that was there stays.
copy_tree() {
	local to=$1
	as_root mkdir -p "$to"
	(cd "$top" && git ls-files -co --exclude-standard -z |
		while IFS= read -r -d '' file; do
			[ ! -e "$file" ] || printf '%s\0' "$file"
		done | tar -c --null -T -) | as_root tar -x -C "$to"
}

# enter_release ROOT COMMAND...: runs it in there; what it leaves running ends
# with it, and what is mounted for it is seen by it alone.
enter_release() {
	local root=$1
	shift
	cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
	as_root unshare --mount --pid --fork --kill-child bash -c '
		set -eu
		root=$1
		shift
		mount --bind "$root" "$root"
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		mount --rbind /sys "$root/sys"
		mount -t tmpfs tmpfs "$root/tmp"
		mount -t tmpfs tmpfs "$root/run"
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
			LANG=C.UTF-8 TERM="${TERM-dumb}" \
			ONCE_COMMIT="$ONCE_COMMIT" chroot "$root" "$@"
	' enter "$root" "$@"
}
