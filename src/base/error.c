/* SPDX-License-Identifier: BSD-2-Clause */
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
