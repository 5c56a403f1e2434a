/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * The expected failures of the program: one negative code for each line of
 * tbl/errors.h; 0 is success.  Bugs are not errors (base/must.h).  Any thread.
 */
enum err {
	OK = 0,
	ERR_FIRST_ = -1000,
#define ERROR(name, message) E_##name,
#include "tbl/errors.h"
#undef ERROR
	ERR_END_,
};

/* The sentence that tbl/errors.h has for a code; never NULL. */
const char *error_message(int code);
/*
 * The words of an errno, with the user who may not read a file, until the next
 * call.  Main thread.
 */
const char *error_of_file(int errnum);
