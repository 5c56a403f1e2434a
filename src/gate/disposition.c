/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/test_build.h"
#include "gate/disposition.h"

enum disposition
disposition_of_answer(
    const struct fields *fields, int status, uint8_t by_status)
{
	struct span name = SPAN("Idempotency-Outcome");
	if (by_status == DISPOSITION_FORGET &&
	    (status == 301 || status == 307 || status == 308) &&
	    fields_first(fields, SPAN("Location")) == NULL)
		by_status = DISPOSITION_STORE;
	size_t at = 0;
	const struct field *said = fields_next(fields, name, &at);
	if (said == NULL)
		return (enum disposition)by_status;
	if (INVARIANT(one_word) && fields_next(fields, name, &at) != NULL)
		return DISPOSITION_UNKNOWN;
	if (span_ieq(said->value, SPAN("store")))
		return DISPOSITION_STORE;
	if (span_ieq(said->value, SPAN("release")))
		return DISPOSITION_RELEASE;
	if (span_ieq(said->value, SPAN("forget")))
		return DISPOSITION_FORGET;
	if (span_ieq(said->value, SPAN("unknown")))
		return DISPOSITION_UNKNOWN;
	return (enum disposition)by_status;
}

bool
disposition_is_refusal(const struct fields *fields, int status)
{
	static const int refused[] = {301, 307, 308, 401, 403, 408, 425, 429};
	enum disposition said =
	    disposition_of_answer(fields, status, DISPOSITION_UNKNOWN);
	if (said == DISPOSITION_RELEASE || said == DISPOSITION_FORGET)
		return true;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (status == refused[i])
			return true;
	return false;
}

enum disposition
disposition_of_reconcile(const struct conf_reconcile *rules, int status,
    const struct fields *fields)
{
	uint8_t by_status = DISPOSITION_UNKNOWN;
	if (status >= 200 && status <= 299)
		by_status = DISPOSITION_STORE;
	else if (rules->absent[status])
		by_status = DISPOSITION_RELEASE;
	return disposition_of_answer(fields, status, by_status);
}
