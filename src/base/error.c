/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

const char *
error_message(int code)
{
	switch (code) {
	case OK:
		return "success";
#define ERROR(name, message) \
	case E_##name: \
		return message;
#include "tbl/errors.h"
#undef ERROR
	default:
		return "unknown failure";
	}
}

const char *
error_of_file(int errnum)
{
	static char words[128];
	const struct passwd *user =
	    errnum == EACCES ? getpwuid(geteuid()) : NULL;
	if (user == NULL)
		return strerror(errnum);
	snprintf(words, sizeof words, "%s (to the user %s)", strerror(errnum),
	    user->pw_name);
	return words;
}
