/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/digest.h"
#include "store/script.h"

static const char *const texts[] = {
#define SCRIPT(name) script_##name,
#include "tbl/scripts.h"
#undef SCRIPT
};

struct span
script_text(enum script script)
{
	return span_str(texts[script]);
}

void
script_names(struct script_names *ret_names)
{
	for (int i = 0; i < SCRIPT_COUNT_; i++) {
		uint8_t hash[SHA1_BYTES];
		sha1(script_text((enum script)i), hash);
		hex_encode(hash, sizeof hash, ret_names->sha[i]);
	}
}
