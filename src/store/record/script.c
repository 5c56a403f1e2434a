/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/digest.h"
#include "base/must.h"
#include "base/test_build.h"
#include "store/record/script.h"

struct span
script_text(enum script script)
{
	switch (script) {
#define SCRIPT(name, word) \
	case SCRIPT_##name: \
		return span_str(SCRIPT_IN_TRIAL(#name, script_##name));
#include "tbl/scripts.h"
#undef SCRIPT
	case SCRIPT_COUNT_:
		break;
	}
	must(false);
	return SPAN("");
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

const char *
script_word(enum script script)
{
	static const char *const words[] = {
#define SCRIPT(name, word) word,
#include "tbl/scripts.h"
#undef SCRIPT
	};
	must((unsigned)script < SCRIPT_COUNT_);
	return words[script];
}

bool
script_answers(enum script script, enum verdict verdict)
{
	static const bool answers[SCRIPT_COUNT_][VERDICT_COUNT_] = {
#define ANSWER(script, verdict) [SCRIPT_##script][VERDICT_##verdict] = true,
#include "tbl/answers.h"
#undef ANSWER
	};
	return answers[script][verdict];
}
