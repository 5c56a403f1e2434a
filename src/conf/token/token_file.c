/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/swappable.h"
#include "conf/token/token_file.h"

enum { FILE_MAX = 1 << 20 };

/* What tells one state of a file from another. */
struct version {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
	int error; /* there is no such file */
};

struct token_file {
	char *name;
	struct version version;
	struct swappable *keys;
};

static bool
same_version(const struct version *a, const struct version *b)
{
	return a->device == b->device && a->inode == b->inode &&
	    a->size == b->size && a->error == b->error &&
	    a->changed.tv_sec == b->changed.tv_sec &&
	    a->changed.tv_nsec == b->changed.tv_nsec;
}

static struct version
version_now(const char *name)
{
	struct stat st;
	if (stat(name, &st) != 0)
		return (struct version){.error = errno};
	return (struct version){st.st_dev, st.st_ino, st.st_size, st.st_ctim,
	    S_ISREG(st.st_mode) ? 0 : EINVAL};
}

static struct token_keys *
read_keys(const char *name, int error, char **ret_wrong)
{
	char *text = NULL, *words = NULL;
	size_t len = 0;
	struct token_keys *keys = NULL;
	if (error == 0)
		error = secret_read_file(name, FILE_MAX, &text, &len);
	if (error != 0)
		words = mem_printf("cannot be read: %s", error_of_file(error));
	else
		keys = token_keys_read(span_of(text, len), &words);
	if (text != NULL)
		sodium_memzero(text, len);
	free(text);
	if (keys == NULL)
		*ret_wrong = mem_printf("%s %s", name, words);
	free(words);
	return keys;
}

static void
free_keys(void *object)
{
	struct token_keys *keys = object;
	token_keys_free(&keys);
}

struct token_file *
token_file_new(const char *name, char **ret_wrong)
{
	/* One that changes while it is read is read once more. */
	struct version version = version_now(name);
	struct token_keys *keys = read_keys(name, version.error, ret_wrong);
	if (keys == NULL)
		return NULL;
	struct token_file *file = mem_zero(sizeof *file);
	file->name = mem_text(name);
	file->version = version;
	file->keys = swappable_new(keys, free_keys);
	return file;
}

void
token_file_free(struct token_file **file)
{
	struct token_file *f = *file;
	*file = NULL;
	if (f == NULL)
		return;
	swappable_free(&f->keys);
	free(f->name);
	free(f);
}

enum token_file_news
token_file_look(struct token_file *file, char **ret_wrong)
{
	struct version version = version_now(file->name);
	if (same_version(&version, &file->version))
		return TOKEN_FILE_SAME;
	file->version = version;
	struct token_keys *keys =
	    read_keys(file->name, version.error, ret_wrong);
	if (keys == NULL)
		return TOKEN_FILE_WRONG;
	struct swappable *newer = swappable_new(keys, free_keys);
	swappable_swap(file->keys, newer);
	swappable_free(&newer);
	return TOKEN_FILE_NEW;
}

char *
token_file_used(const struct token_file *file)
{
	struct swappable_object *keys = swappable_acquire(file->keys);
	char *text = token_keys_used(keys->object);
	swappable_release(&keys);
	return text;
}

char *
token_file_left(const struct token_file *file)
{
	struct swappable_object *keys = swappable_acquire(file->keys);
	char *text = token_keys_left(keys->object);
	swappable_release(&keys);
	return text;
}

char *
token_file_private(const struct token_file *file)
{
	struct swappable_object *keys = swappable_acquire(file->keys);
	char *name =
	    mem_text(token_keys_private(keys->object));
	swappable_release(&keys);
	return name;
}

const char *
token_file_verify(struct arena *arena, const struct token_file *file,
    const struct token_rules *rules, struct span token, int64_t now_ms,
    struct span *ret_value)
{
	struct swappable_object *keys = swappable_acquire(file->keys);
	const char *wrong = token_verify(arena, keys->object, rules,
	    token, now_ms, ret_value);
	swappable_release(&keys);
	return wrong;
}
