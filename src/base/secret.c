/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sodium.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
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
	span_put(text, s);
	return text;
}

void
secret_free(void *secret)
{
	sodium_free(secret);
}

void
secret_wipe(void *plain)
{
	if (plain != NULL)
		sodium_memzero(plain, malloc_usable_size(plain));
	free(plain);
}

int
secret_read_file(
    const char *name, size_t max, char **ret_text, size_t *ret_len)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	/* One buffer that never moves leaves no copies of secrets behind. */
	char *buffer = mem_zero(max + 2);
	size_t len = 0;
	int error = 0;
	ssize_t n = 1;
	while (n != 0 && error == 0) {
		n = read(fd, buffer + len, max + 1 - len);
		if (n > 0)
			len += (size_t)n;
		else if (n < 0 && errno != EINTR)
			error = errno;
		if (len > max)
			error = EFBIG;
	}
	close(fd);
	if (error == 0) {
		*ret_text = mem_copy(buffer, len + 1);
		*ret_len = len;
	}
	sodium_memzero(buffer, len);
	free(buffer);
	return error;
}
