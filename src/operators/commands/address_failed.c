/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "base/mem.h"
#include "operators/commands/address_failed.h"

bool
address_failed(
    const struct address *address, const char *what, char **ret_message)
{
	*ret_message =
	    mem_printf("%s: %s: %s", address->text, what, strerror(errno));
	return false;
}
