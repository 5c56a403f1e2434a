/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "conf/amount.h"
#include "conf/option.h"

/*
 * What somebody may have meant by an amount, an address, a status or another
 * value that is written as other programs have it.  Pure; any thread.
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
 * Of a small number without a unit, where such amounts are of days: the hours
 * or days that it may stand for as well; NULL: it is none.  The caller frees
 * it.
 */
char *meant_long_amount(const struct option *option, const json_t *value);
/*
 * The address or URL that a path alone, or a host with another scheme or none,
 * may stand for: "unix:/path", or the scheme ("redis://", or "" for none) and
 * the rest.  Whether that would do is the caller's to look at.  NULL: nothing
 * comes to mind, or there may be a password in it.  The caller frees it.
 */
char *meant_address(const char *text, const char *scheme);
/* The JSON pointer that "order_id" or "$.a.b" may stand for; NULL: none. */
char *meant_pointer(const char *text);
/*
 * The name that "X-Tenant:" or "X-Tenant: 7" may stand for; NULL: there is no
 * colon.  The caller frees it.
 */
char *meant_field(const char *text);
/*
 * What may have been meant by a value that is wrong for the option: a list by a
 * string, a port by a number.  Whether its parser accepts one is the caller's
 * to try, in this order; some may be NULL, and the caller drops them.
 */
enum { MEANT_VALUES = 4 };
void meant_values(const struct option *option, const json_t *value,
    json_t *ret_values[static MEANT_VALUES]);
/*
 * The status or class of statuses that "5XX" or " 503" may stand for; NULL:
 * nothing comes to mind.  The caller frees it.
 */
char *meant_status(const char *text);
