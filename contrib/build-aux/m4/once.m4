# SPDX-License-Identifier: BSD-2-Clause
#
# The macros of onceproxy's configure.ac.

# ONCE_NEED(VARIABLE, PKG-CONFIG NAME, LEAST VERSION, DEBIAN PACKAGE)
# Finds a library; one that is missing is remembered for ONCE_NEED_DONE.
AC_DEFUN([ONCE_NEED], [
	AC_REQUIRE([PKG_PROG_PKG_CONFIG])
	PKG_CHECK_MODULES([$1], [$2 >= $3], [],
		[AS_VAR_APPEND([once_missing],
			["
  $2 >= $3 (Debian: $4)"])])
])

# ONCE_NEED_DONE
# Ends configure with one line for each library that was not found.
AC_DEFUN([ONCE_NEED_DONE], [
	AS_IF([test -n "$once_missing"],
		[AC_MSG_ERROR([these libraries are missing:$once_missing])])
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
