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

/* The members of `idempotency` that one stands for; the caller owns them. */
json_t *api_preset_members(enum api_preset preset);
/* What it is, in a sentence or two. */
const char *api_preset_sentence(enum api_preset preset);
/* The field that says whether to send the same again; "" for none. */
const char *api_preset_again_field(enum api_preset preset);

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
