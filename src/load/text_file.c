/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "load/text_private.h"

static int
read_up_to(int fd, size_t max, char *buffer, size_t *ret_len)
{
	size_t len = 0;
	for (;;) {
		ssize_t n = read(fd, buffer + len, max + 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > max)
			return EFBIG;
	}
	*ret_len = len;
	return 0;
}

int
text_file_read(const char *name, size_t max, char **ret_text, size_t *ret_len)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	/* One buffer that never moves leaves no copies of secrets behind. */
	char *buffer = mem_zero(max + 2);
	size_t len = 0;
	int error = read_up_to(fd, max, buffer, &len);
	close(fd);
	if (error == 0) {
		*ret_text = mem_copy(buffer, len + 1);
		*ret_len = len;
	}
	sodium_memzero(buffer, len);
	free(buffer);
	return error;
}
