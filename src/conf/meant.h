/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "conf/amount.h"
#include "conf/option.h"

/*
 * What somebody may have meant by an amount, an address or a status that is
 * written as other programs have it.  Pure; any thread.
 */

/*
 * The amount that a number without a unit, one with the unit of other programs
 * ("30sec", "1MB"), or several of them ("1m30s") stand for, as it is written
 * here and within the option's range; NULL: nothing comes to mind.  The caller
 * frees it.
 */
char *meant_amount(const struct option *option, const json_t *value,
    enum amount_kind kind);
/*
 * The address or URL that a path alone, or a host with another scheme or none,
 * may stand for: "unix:/path", or the scheme ("redis://", or "" for none) and
 * the rest.  Whether that would do is the caller's to look at.  NULL: nothing
 * comes to mind, or there may be a password in it.  The caller frees it.
 */
char *meant_address(const char *text, const char *scheme);
/*
 * The status or class of statuses that "5XX" or " 503" may stand for; NULL:
 * nothing comes to mind.  The caller frees it.
 */
char *meant_status(const char *text);
