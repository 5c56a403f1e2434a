/* SPDX-License-Identifier: BSD-2-Clause */
#include <gnutls/crypto.h>

#include "base/must.h"
#include "store/redis/sha1.h"

void
sha1(struct span text, uint8_t ret_hash[SHA1_BYTES])
{
	must(gnutls_hash_fast(GNUTLS_DIG_SHA1, text.ptr, text.len, ret_hash) ==
	    0);
}
