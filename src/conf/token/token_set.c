/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/swappable.h"
#include "conf/token/token_set.h"

enum { FILE_MAX = 1 << 20 };

/* What tells one state of a file from another. */
struct version {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
	int error; /* there is no such file */
};

/* What sets of one name have in common. */
struct shared_set {
	atomic_uint refs;
	char *name;
	char *ca; /* NULL: the system's */
	struct version version;
	struct swappable *keys;    /* of a URL, NULL until they were fetched */
	struct token_fetch *fetch; /* NULL: it is a file */
};

struct token_set {
	struct shared_set *shared;
};

static struct version
version_now(const char *name)
{
	struct stat st;
	if (stat(name, &st) != 0)
		return (struct version){.error = errno};
	return (struct version){st.st_dev, st.st_ino, st.st_size, st.st_ctim,
	    S_ISREG(st.st_mode) ? 0 : EINVAL};
}

/* One that changes while it is read is read once more. */
static struct token_keys *
read_keys(struct shared_set *s, char **ret_wrong)
{
	char *text = NULL, *words = NULL;
	size_t len = 0;
	struct token_keys *keys = NULL;
	s->version = version_now(s->name);
	int error = s->version.error;
	if (error == 0)
		error = secret_read_file(s->name, FILE_MAX, &text, &len);
	if (error != 0)
		words = mem_printf("cannot be read: %s", error_of_file(error));
	else
		keys = token_keys_read(span_of(text, len), &words);
	secret_wipe(text);
	if (keys == NULL)
		*ret_wrong = mem_printf("%s %s", s->name, words);
	free(words);
	return keys;
}

bool
token_set_is_url(const char *name)
{
	return strstr(name, "://") != NULL;
}

struct token_set *
token_set_new(const char *name, const char *ca, char **ret_wrong)
{
	struct token_set *set = mem_zero(sizeof *set);
	struct shared_set *s = set->shared = mem_zero(sizeof *s);
	bool url = token_set_is_url(name);
	atomic_init(&s->refs, 1);
	s->name = mem_text(name);
	s->ca = mem_text(ca);
	struct token_keys *keys = url ? NULL : read_keys(s, ret_wrong);
	s->keys = token_keys_publish(keys);
	if (url)
		s->fetch = token_fetch_new(s->name, s->ca, s->keys);
	if (url || keys != NULL)
		return set;
	token_set_free(set);
	return NULL;
}

static void
unref(struct shared_set *s)
{
	if (atomic_fetch_sub(&s->refs, 1) != 1)
		return;
	token_fetch_free(&s->fetch);
	swappable_free(&s->keys);
	free(s->name);
	free(s->ca);
	free(s);
}

void
token_set_free(void *set)
{
	unref(((struct token_set *)set)->shared);
	free(set);
}

bool
token_set_share(struct token_set *set, const struct token_set *from, bool files)
{
	struct shared_set *own = set->shared, *other = from->shared;
	const char *ca = own->ca != NULL ? own->ca : "";
	if ((own->fetch == NULL && !files) || strcmp(own->name, other->name) ||
	    strcmp(ca, other->ca != NULL ? other->ca : ""))
		return false;
	atomic_fetch_add(&other->refs, 1);
	set->shared = other;
	unref(own);
	return true;
}

struct token_news
token_set_look(struct token_set *set)
{
	struct shared_set *s = set->shared;
	struct token_news news = {TOKEN_SAME, NULL, 0};
	if (s->fetch != NULL)
		return token_fetch_look(s->fetch);
	const struct version *was = &s->version;
	struct version is = version_now(s->name);
	if (is.device == was->device && is.inode == was->inode &&
	    is.size == was->size && is.error == was->error &&
	    is.changed.tv_sec == was->changed.tv_sec &&
	    is.changed.tv_nsec == was->changed.tv_nsec)
		return news;
	struct token_keys *keys = read_keys(s, &news.wrong);
	news.what = keys != NULL ? TOKEN_NEW : TOKEN_WRONG;
	if (keys != NULL)
		token_keys_replace(s->keys, keys);
	return news;
}

char *
token_set_try(struct token_set *set)
{
	struct token_fetch *fetch = set->shared->fetch;
	return fetch != NULL ? token_fetch_try(fetch) : NULL;
}

char *
token_set_words(const struct token_set *set,
    char *(*words)(const struct token_keys *keys))
{
	struct swappable_object *keys = swappable_acquire(set->shared->keys);
	char *text = keys->object != NULL ? words(keys->object) : NULL;
	swappable_release(&keys);
	return text;
}

bool
token_set_verify(struct arena *arena, const struct token_set *set,
    const struct token_rules *rules, struct span token, int64_t now_ms,
    struct span *ret_value, struct token_refusal *ret_refusal)
{
	const struct shared_set *s = set->shared;
	struct swappable_object *keys = swappable_acquire(s->keys);
	bool missing = keys->object == NULL;
	struct token_refusal refusal = {
	    .words = "The keys that verify the token were not fetched yet.",
	    .unverified = missing,
	};
	if (!missing)
		refusal.words = token_verify(arena, keys->object, rules, token,
		    now_ms, ret_value, &missing);
	if (missing && s->fetch != NULL)
		refusal.pending = token_fetch_ask(
		    s->fetch, keys->object, &refusal.old);
	swappable_release(&keys);
	*ret_refusal = refusal;
	return refusal.words == NULL;
}
