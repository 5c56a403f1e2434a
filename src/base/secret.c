/* SPDX-License-Identifier: BSD-2-Clause */
#include <sodium.h>

#include "base/must.h"
#include "base/secret.h"

void *
secret_alloc(size_t bytes)
{
	/* Its guards are drawn at random when libsodium begins. */
	must(sodium_init() >= 0);
	void *secret = sodium_malloc(bytes);
	must(secret != NULL);
	sodium_memzero(secret, bytes);
	return secret;
}

char *
secret_str(struct span s)
{
	char *text = secret_alloc(s.len + 1);
	if (s.len > 0)
		memcpy(text, s.ptr, s.len);
	return text;
}

void
secret_free(void *secret)
{
	sodium_free(secret);
}
