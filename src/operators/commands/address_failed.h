/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * Sets *ret_message (the caller frees it) to "ADDRESS: WHAT: ERRNO", for a
 * socket that could not be had.  Returns false.  Any thread.
 */
bool address_failed(
    const struct address *address, const char *what, char **ret_message);
