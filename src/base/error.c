/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"

const char *
err_words(int code)
{
	switch (code) {
	case OK:
		return "success";
#define ERROR(name, words)                                                    \
	case E_##name:                                                         \
		return words;
#include "tbl/errors.h"
#undef ERROR
	default:
		return "unknown failure";
	}
}
