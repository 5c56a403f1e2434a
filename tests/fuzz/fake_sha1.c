/* SPDX-License-Identifier: BSD-2-Clause */
#include "fuzz/fuzz.h"
#include "store/redis/sha1.h"

/*
 * In place of src/store/redis/sha1.c: each run of the target store would spend
 * most of its time on the names of the scripts, which nobody reads there.
 */
void
sha1(struct span bytes, uint8_t ret_hash[SHA1_BYTES])
{
	memset(ret_hash, (int)(bytes.len & 0xff), SHA1_BYTES);
}
