# SPDX-License-Identifier: BSD-2-Clause
#
# The macros of onceproxy's configure.ac.

# ONCE_NEED(VARIABLE, PKG-CONFIG NAME, LEAST VERSION, DEBIAN PACKAGE [, OPTION])
# Finds a library; one that is missing is remembered for ONCE_NEED_DONE, with
# the option that does without it.
AC_DEFUN([ONCE_NEED], [
	AC_REQUIRE([PKG_PROG_PKG_CONFIG])
	PKG_CHECK_MODULES([$1], [$2 >= $3], [],
		[AS_VAR_APPEND([once_missing],
			["
  $2 >= $3 (Debian: $4[]m4_ifval([$5], [; or configure $5]))"])])
])

# ONCE_NEED_DONE
# Ends configure with one line for each library that was not found.
AC_DEFUN([ONCE_NEED_DONE], [
	AS_IF([test -z "$PKG_CONFIG"],
		[AC_MSG_ERROR([pkg-config is missing, which finds libraries])])
	AS_IF([test -n "$once_missing"],
		[AC_MSG_ERROR([these libraries are missing, or too old, or
their headers and .pc files are in a package of their own:$once_missing])])
])

# ONCE_POSTGRES
# --without-postgres leaves the outbox of PostgreSQL out.
AC_DEFUN([ONCE_POSTGRES], [
	AC_ARG_WITH([postgres],
		[AS_HELP_STRING([--without-postgres],
			[no brokers of the kind "postgres"])],
		[], [with_postgres=yes])
	AS_VAR_IF([with_postgres], [no], [], [
		ONCE_NEED([POSTGRES], [libpq], [14], [libpq-dev],
			[--without-postgres])
		AC_DEFINE([HAVE_POSTGRES], [1],
			[Define to 1 where there is libpq.])
	])
	AM_CONDITIONAL([HAVE_POSTGRES], [test "$with_postgres" != no])
	# The tests run a server of their own; Debian has it in no PATH.
	once_path=$PATH
	for once_dir in /usr/lib/postgresql/*/bin; do
		once_path=$once_dir:$once_path
	done
	AC_PATH_PROG([POSTGRES_SERVER], [postgres], [no], [$once_path])
	AM_CONDITIONAL([HAVE_POSTGRES_SERVER],
		[test "$with_postgres" != no && test "$POSTGRES_SERVER" != no])
	POSTGRES_BIN=$(dirname "$POSTGRES_SERVER")
	AC_SUBST([POSTGRES_BIN])
])

# ONCE_KAFKA
# --without-kafka leaves the topics of Kafka out.
AC_DEFUN([ONCE_KAFKA], [
	AC_ARG_WITH([kafka],
		[AS_HELP_STRING([--without-kafka],
			[no brokers of the kind "kafka"])],
		[], [with_kafka=yes])
	AS_VAR_IF([with_kafka], [no], [], [
		ONCE_NEED([KAFKA], [rdkafka], [2.0.0], [librdkafka-dev],
			[--without-kafka])
		AC_DEFINE([HAVE_KAFKA], [1],
			[Define to 1 where there is librdkafka.])
	])
	AM_CONDITIONAL([HAVE_KAFKA], [test "$with_kafka" != no])
])

# ONCE_SYSTEMD
# --without-systemd leaves out what is said to systemd, and its units.
AC_DEFUN([ONCE_SYSTEMD], [
	AC_ARG_WITH([systemd],
		[AS_HELP_STRING([--without-systemd],
			[no readiness, watchdog, passed sockets, units])],
		[], [with_systemd=yes])
	AS_VAR_IF([with_systemd], [no], [], [
		ONCE_NEED([SYSTEMD], [libsystemd], [247], [libsystemd-dev],
			[--without-systemd])
		AC_DEFINE([HAVE_SYSTEMD], [1],
			[Define to 1 where there is libsystemd.])
	])
])

# ONCE_TRY_CFLAG(FLAG)
# Appends FLAG to WARN_CFLAGS where the compiler takes it.
AC_DEFUN([ONCE_TRY_CFLAG], [
	AS_VAR_PUSHDEF([cachevar], [once_cv_cflag_$1])
	AC_CACHE_CHECK([whether $CC takes $1], [cachevar], [
		once_saved_cflags=$CFLAGS
		CFLAGS="$CFLAGS -Werror $1"
		AC_COMPILE_IFELSE([AC_LANG_PROGRAM()],
			[AS_VAR_SET([cachevar], [yes])],
			[AS_VAR_SET([cachevar], [no])])
		CFLAGS=$once_saved_cflags
	])
	AS_VAR_IF([cachevar], [yes], [WARN_CFLAGS="$WARN_CFLAGS $1"])
	AS_VAR_POPDEF([cachevar])
])

# ONCE_WARNINGS
# Our warnings live in WARN_CFLAGS and never touch the user's CFLAGS.
AC_DEFUN([ONCE_WARNINGS], [
	AC_ARG_ENABLE([werror],
		[AS_HELP_STRING([--enable-werror],
			[turn compiler warnings into errors])])
	WARN_CFLAGS=
	m4_foreach_w([flag], [-Wall -Wextra -Wshadow -Wpointer-arith
		-Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
		-Wwrite-strings -Wcast-qual -Wundef -Wvla -Wformat=2
		-Wimplicit-fallthrough -Wnull-dereference -Wduplicated-cond
		-Wlogical-op -Wswitch-enum -fno-common],
		[ONCE_TRY_CFLAG(flag)])
	AS_VAR_IF([enable_werror], [yes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
	AC_SUBST([WARN_CFLAGS])
])

# ONCE_SAME_ARCHIVE
# The same sources make the same archive, byte for byte, whoever runs "make
# dist": the time in it is SOURCE_DATE_EPOCH, else the last commit's.
AC_DEFUN([ONCE_SAME_ARCHIVE], [
	AC_REQUIRE([AM_INIT_AUTOMAKE])
	once_epoch='$${SOURCE_DATE_EPOCH:-$$(git -C $(srcdir) log -1 \
		--format=%ct 2>/dev/null || stat -c %Y $(srcdir)/configure.ac)}'
	am__tar='$${TAR-tar} --format=ustar --sort=name --owner=0 --group=0 \
		--numeric-owner --mode=u+rw,go=rX --mtime="@'"$once_epoch"'" \
		-chf - "$$tardir"'
])

# ONCE_SYSTEMD_UNITS
# --with-systemdsystemunitdir=DIR is where the units go; with "no", nothing of
# systemd's is installed, nor where the gateway would not tell it that it is
# ready.
AC_DEFUN([ONCE_SYSTEMD_UNITS], [
	AC_ARG_WITH([systemdsystemunitdir],
		[AS_HELP_STRING([--with-systemdsystemunitdir=DIR],
			[units of systemd (PREFIX/lib/systemd/system), or
			"no" for none])],
		[], [with_systemdsystemunitdir=yes])
	AS_VAR_IF([with_systemd], [no], [with_systemdsystemunitdir=no])
	AS_VAR_IF([with_systemdsystemunitdir], [yes],
		[with_systemdsystemunitdir='${prefix}/lib/systemd/system'])
	AC_SUBST([systemdsystemunitdir], [$with_systemdsystemunitdir])
	AM_CONDITIONAL([SYSTEMD_UNITS],
		[test "$with_systemdsystemunitdir" != no])
])

# ONCE_SANITIZER
# --with-sanitizer=address,undefined builds all of it under sanitizers.
AC_DEFUN([ONCE_SANITIZER], [
	AC_ARG_WITH([sanitizer],
		[AS_HELP_STRING([--with-sanitizer=LIST],
			[build with sanitizers, e.g. address,undefined])],
		[], [with_sanitizer=no])
	SAN_CFLAGS=
	AS_CASE([$with_sanitizer],
		[no], [],
		[yes], [AC_MSG_ERROR([--with-sanitizer needs a list])],
		[SAN_CFLAGS="-fsanitize=$with_sanitizer"
		 SAN_CFLAGS="$SAN_CFLAGS -fno-sanitize-recover=all"
		 SAN_CFLAGS="$SAN_CFLAGS -fno-omit-frame-pointer"])
	AC_SUBST([SAN_CFLAGS])
])

# ONCE_FUZZERS
# --enable-fuzzers also builds tests/fuzz/fuzz, for libFuzzer: clang only.
AC_DEFUN([ONCE_FUZZERS], [
	AC_ARG_ENABLE([fuzzers],
		[AS_HELP_STRING([--enable-fuzzers],
			[build the fuzz targets for libFuzzer (clang)])])
	FUZZ_CFLAGS="-fsanitize=fuzzer-no-link,address,undefined"
	FUZZ_CFLAGS="$FUZZ_CFLAGS -fno-sanitize-recover=all"
	FUZZ_LDFLAGS="-fsanitize=fuzzer,address,undefined"
	AS_VAR_IF([enable_fuzzers], [yes], [
		once_saved_cflags=$CFLAGS
		CFLAGS="$CFLAGS $FUZZ_LDFLAGS"
		AC_MSG_CHECKING([for libFuzzer])
		AC_LINK_IFELSE([AC_LANG_SOURCE([
			int LLVMFuzzerTestOneInput(const char *, unsigned long);
			int LLVMFuzzerTestOneInput(const char *b,
			    unsigned long n) { return b && n > 1000000; }])],
			[AC_MSG_RESULT([yes])],
			[AC_MSG_RESULT([no])
			 AC_MSG_ERROR([--enable-fuzzers needs clang and its
runtime (Debian: clang, libclang-rt-dev; configure with CC=clang)])])
		CFLAGS=$once_saved_cflags
	])
	AM_CONDITIONAL([FUZZERS], [test "$enable_fuzzers" = yes])
	AC_SUBST([FUZZ_CFLAGS])
	AC_SUBST([FUZZ_LDFLAGS])
])

# ONCE_LTO
# The program is optimised as a whole when it is linked: 6 to 7 % fewer
# instructions for each request.  Its objects have machine code besides, which
# the tests' many programs are linked from, as quickly as ever.  A build for
# debugging, sanitizers or fuzzing has none of it, nor one whose CFLAGS decide.
AC_DEFUN([ONCE_LTO], [
	AC_ARG_ENABLE([lto],
		[AS_HELP_STRING([--disable-lto],
			[no link-time optimisation of the program])])
	LTO_CFLAGS=
	LTO_LDFLAGS=
	NO_LTO_LDFLAGS=
	AS_CASE([$enable_lto:$with_sanitizer:$enable_fuzzers:$CFLAGS],
		[no:*|*:yes:*|*-flto*|*-fno-lto*], [enable_lto=no],
		[yes:*|*:no:*:*-O@<:@23s@:>@*], [enable_lto=yes],
		[enable_lto=no])
	AS_VAR_IF([enable_lto], [yes], [
		AC_CACHE_CHECK([whether $CC optimises when it links],
			[once_cv_lto], [ONCE_TRY_LTO])
	])
	AS_VAR_IF([once_cv_lto], [yes], [
		LTO_CFLAGS="-flto=auto -ffat-lto-objects"
		# Each file was warned of; guesses across files are wrong.
		LTO_LDFLAGS="-flto=auto -w"
		NO_LTO_LDFLAGS="-fno-lto"
	])
	AC_SUBST([LTO_CFLAGS])
	AC_SUBST([LTO_LDFLAGS])
	AC_SUBST([NO_LTO_LDFLAGS])
])

# ONCE_TRY_LTO
# Sets once_cv_lto: the linker must take such an object, and with -fno-lto its
# machine code.
AC_DEFUN([ONCE_TRY_LTO], [
	once_saved_cflags=$CFLAGS
	once_cv_lto=no
	once_flags="-Werror -flto=auto -ffat-lto-objects"
	CFLAGS="$CFLAGS $once_flags"
	AC_LINK_IFELSE([AC_LANG_PROGRAM()], [
		CFLAGS="$CFLAGS -fno-lto"
		AC_LINK_IFELSE([AC_LANG_PROGRAM()], [once_cv_lto=yes])
	])
	CFLAGS=$once_saved_cflags
])
