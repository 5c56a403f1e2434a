/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

/*
 * tbl/presets.h as data: what clients of well-known APIs count on.  It knows
 * neither files nor requests.  Constant; any thread.
 */
enum api_preset {
	API_PRESET_NONE,
#define PRESET(name, ...) API_PRESET_##name,
#define PRESET_SAYS(...)
#include "tbl/presets.h"
#undef PRESET
#undef PRESET_SAYS
	API_PRESET_COUNT_,
};

/* Their names, with spaces between them, in that order. */
#define API_PRESET_WORDS "stripe adyen paypal square ietf acp ucp"

extern const struct api_preset_line {
	/* The field that says whether to send the same again; "" for none. */
	const char *again_field;
	const char *sentence; /* what it is, in one or two of them */
	const char *members;  /* as api_preset_members reads them */
} api_presets[API_PRESET_COUNT_];

/* The members of `idempotency` that one stands for; the caller owns them. */
json_t *api_preset_members(enum api_preset preset);

/* What a body is about. */
struct api_preset_facts {
	const char *name; /* of the problem, without problem_base */
	int status;
	const char *detail;
	const char *request_id;
};
/*
 * What such a body has of the API's own; NULL: nothing.  The caller owns it.
 */
json_t *api_preset_says(
    enum api_preset preset, const struct api_preset_facts *facts);
