/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/random.h"
#include "store/record/owner.h"

void
owner_new(struct owner *ret_owner)
{
	random_bytes(ret_owner->bytes, sizeof ret_owner->bytes);
}
