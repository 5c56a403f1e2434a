/* SPDX-License-Identifier: BSD-2-Clause */
#include <curl/curl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/digits.h"
#include "base/loop/clock.h"
#include "base/mem.h"
#include "base/swappable.h"
#include "base/test_build.h"
#include "base/trust.h"
#include "conf/token/token_fetch.h"
#include "conf/token/token_keys.h"

enum {
	ANSWER_MAX = 1 << 20,
	CONNECT_MS = 5000,
	ANSWER_MS = 10000,
	KEPT_LEAST_S = 5 * 60,
	KEPT_MOST_S = 24 * 60 * 60,
	ASKED_MS = 30000,      /* between two that ask for unknown keys */
	AGAIN_MS = 30000,      /* after a failure */
	FIRST_AGAIN_MS = 5000, /* the same while there are no keys at all */
	SLICE_MS = 1000,       /* libcurl may have no descriptor to be woken */
};

#define SET(easy, option, value)                                               \
	must(curl_easy_setopt((easy), CURLOPT_##option, (value)) == CURLE_OK)

struct token_fetch {
	const char *url;
	const char *ca; /* NULL: the system's */
	struct swappable *keys;
	CURLM *multi; /* the thread waits by it, and is woken */
	pthread_t thread;
	bool begun; /* there is a thread */
	bool tried; /* without one */

	/* The thread's own: */
	uint8_t print[DIGEST_BYTES]; /* of what the keys were read from */
	bool has_keys;
	bool failed;

	atomic_bool stops;
	atomic_bool asked;    /* for a key, and the thread has not begun to */
	pthread_mutex_t lock; /* of the rest */
	bool coming; /* an answer is on its way, or about to be asked for */
	int64_t asked_ms;
	int64_t well_ms; /* when it was answered well; 0: not the last time */
	struct token_news news;
};

/* What was answered. */
struct jwks_answer {
	char *text;
	size_t len;
	bool too_large;
	int64_t kept_ms;
	char error[CURL_ERROR_SIZE];
};

static int64_t
now_ms(void)
{
	return clock_us() / 1000;
}

/* --- one question --- */

/* CURLOPT_WRITEFUNCTION. */
static size_t
take(char *bytes, size_t size, size_t count, void *arg)
{
	struct jwks_answer *answer = arg;
	size_t len = size * count;
	answer->too_large = len > ANSWER_MAX - answer->len;
	if (answer->too_large)
		return 0;
	memcpy(answer->text + answer->len, bytes, len);
	answer->len += len;
	return len;
}

static CURL *
new_question(const struct token_fetch *f, const struct curl_slist *fields,
    struct jwks_answer *answer)
{
	CURL *easy = curl_easy_init();
	must(easy != NULL);
	SET(easy, URL, f->url);
	SET(easy, PROTOCOLS_STR, "http,https");
	SET(easy, PROXY, ""); /* nor the one of the environment */
	SET(easy, HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(easy, HTTPHEADER, fields);
	SET(easy, USERAGENT, PACKAGE_NAME "/" PACKAGE_VERSION);
	/* Where a redirect leads, nobody has said that it is to be believed. */
	SET(easy, FOLLOWLOCATION, INVARIANT(keys_from_url) ? 0L : 1L);
	SET(easy, FORBID_REUSE, 1L);
	SET(easy, DNS_CACHE_TIMEOUT, 0L);
	SET(easy, CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	SET(easy, TIMEOUT_MS, (long)ANSWER_MS);
	SET(easy, NOSIGNAL, 1L);
	/* Giving up must not wait for a resolver that does not answer. */
	SET(easy, QUICK_EXIT, 1L);
	SET(easy, WRITEFUNCTION, take);
	SET(easy, WRITEDATA, answer);
	SET(easy, ERRORBUFFER, answer->error);
	trust_set(easy, f->ca);
	return easy;
}

/* How long it may be kept, as its Cache-Control says (RFC 9111, 5.2.2). */
static int64_t
kept_ms(CURL *easy)
{
	const struct span max_age = SPAN("max-age=");
	struct curl_header *field;
	struct span piece;
	int64_t s = 0;
	bool kept = true;
	for (size_t i = 0; curl_easy_header(easy, "Cache-Control", i,
			       CURLH_HEADER, -1, &field) == CURLHE_OK;
	     i++) {
		struct span list = span_str(field->value);
		while (span_next(&list, ',', &piece))
			if (span_ieq(piece, SPAN("no-store")) ||
			    span_ieq(piece, SPAN("no-cache")))
				kept = false;
			else if (piece.len > max_age.len &&
			    span_ieq(span_of(piece.ptr, max_age.len), max_age))
				(void)!digits_read(
				    span_from(piece, max_age.len), INT32_MAX,
				    &s);
	}
	if (!kept || s < KEPT_LEAST_S)
		s = KEPT_LEAST_S;
	return (s < KEPT_MOST_S ? s : KEPT_MOST_S) * 1000;
}

/* Why it is no answer that could be keys, behind the URL; NULL: it may be. */
static char *
fault_of(CURL *easy, CURLcode result, const struct jwks_answer *answer)
{
	long status = 0;
	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	if (answer->too_large)
		return mem_text("answers with more than 1 MiB");
	if (result != CURLE_OK)
		return mem_printf("cannot be fetched: %s",
		    *answer->error ? answer->error
				   : curl_easy_strerror(result));
	if (status / 100 == 3)
		return mem_printf("answers with %ld, a redirect, which is not "
		    "followed: name the URL that it leads to", status);
	return status == 200 ? NULL : mem_printf("answers with %ld", status);
}

/* Asks, and waits for the answer or the order to stop. */
static char *
get(struct token_fetch *f, struct jwks_answer *answer)
{
	int running = 1, left;
	CURLcode result = CURLE_ABORTED_BY_CALLBACK;
	struct curl_slist *fields = curl_slist_append(
	    NULL, "Accept: application/jwk-set+json, application/json");
	must(fields != NULL);
	CURL *easy = new_question(f, fields, answer);
	must(curl_multi_add_handle(f->multi, easy) == CURLM_OK);
	while (running > 0 && !atomic_load(&f->stops)) {
		must(curl_multi_perform(f->multi, &running) == CURLM_OK);
		if (running > 0)
			must(curl_multi_poll(f->multi, NULL, 0, SLICE_MS,
				 NULL) == CURLM_OK);
	}
	const CURLMsg *msg = curl_multi_info_read(f->multi, &left);
	if (msg != NULL)
		result = msg->data.result;
	char *fault = fault_of(easy, result, answer);
	answer->kept_ms = kept_ms(easy);
	must(curl_multi_remove_handle(f->multi, easy) == CURLM_OK);
	curl_easy_cleanup(easy);
	curl_slist_free_all(fields);
	return fault;
}

/* --- what came of it --- */

/* What is new is used from now on; else a fault, behind the URL. */
static char *
use(struct token_fetch *f, const struct jwks_answer *answer, bool *ret_new)
{
	struct digest digest;
	uint8_t print[DIGEST_BYTES];
	char *fault = NULL;
	struct span text = span_of(answer->text, answer->len);
	digest_begin(&digest, SPAN("keys"), SPAN(""));
	digest_part(&digest, text);
	digest_end(&digest, print);
	if (f->has_keys && !memcmp(print, f->print, sizeof print))
		return NULL;
	struct token_keys *keys = token_keys_read(text, &fault);
	if (keys == NULL)
		return fault;
	token_keys_replace(f->keys, keys);
	memcpy(f->print, print, sizeof print);
	f->has_keys = *ret_new = true;
	return NULL;
}

/* Only a change between well and wrong, or of the keys, is news. */
static void
tell(struct token_fetch *f, bool is_new, const char *fault, int64_t rest_ms)
{
	struct token_news news = {TOKEN_SAME, NULL, rest_ms / 1000};
	if (fault != NULL && !f->failed)
		news.what = TOKEN_WRONG;
	else if (fault == NULL && (is_new || f->failed))
		news.what = TOKEN_NEW;
	if (news.what == TOKEN_WRONG)
		news.wrong = mem_printf("%s %s", f->url, fault);
	f->failed = fault != NULL;
	must(pthread_mutex_lock(&f->lock) == 0);
	f->coming = false;
	f->well_ms = fault == NULL ? now_ms() : 0;
	if (news.what != TOKEN_SAME) {
		free(f->news.wrong);
		f->news = news;
	}
	must(pthread_mutex_unlock(&f->lock) == 0);
}

/* Asks once; a fault, behind the URL, and how long the answer may rest. */
static char *
fetch(struct token_fetch *f, bool *ret_new, int64_t *ret_rest_ms)
{
	struct jwks_answer answer = {.text = mem_zero(ANSWER_MAX)};
	char *fault = get(f, &answer);
	*ret_new = false;
	if (fault == NULL)
		fault = use(f, &answer, ret_new);
	*ret_rest_ms = fault == NULL ? answer.kept_ms
	    : f->has_keys	     ? AGAIN_MS
				     : FIRST_AGAIN_MS;
	/* There may be a secret among them. */
	sodium_memzero(answer.text, answer.len);
	free(answer.text);
	return fault;
}

/* --- the thread --- */

static void *
run(void *arg)
{
	struct token_fetch *f = arg;
	while (!atomic_load(&f->stops)) {
		bool is_new;
		int64_t rest_ms;
		char *fault = fetch(f, &is_new, &rest_ms);
		tell(f, is_new, fault, rest_ms);
		free(fault);
		/* Rests, unless somebody asks for a key before. */
		int64_t until_ms = now_ms() + rest_ms, left_ms;
		while (!atomic_load(&f->stops) && !atomic_load(&f->asked) &&
		    (left_ms = until_ms - now_ms()) > 0)
			must(curl_multi_poll(f->multi, NULL, 0,
				 left_ms < SLICE_MS ? (int)left_ms : SLICE_MS,
				 NULL) == CURLM_OK);
		must(pthread_mutex_lock(&f->lock) == 0);
		atomic_store(&f->asked, false);
		f->coming = true;
		must(pthread_mutex_unlock(&f->lock) == 0);
	}
	return NULL;
}

struct token_news
token_fetch_look(struct token_fetch *f)
{
	if (!f->begun)
		f->begun = pthread_create(&f->thread, NULL, run, f) == 0;
	must(pthread_mutex_lock(&f->lock) == 0);
	struct token_news news = f->news;
	f->news = (struct token_news){TOKEN_SAME, NULL, 0};
	must(pthread_mutex_unlock(&f->lock) == 0);
	return news;
}

bool
token_fetch_ask(struct token_fetch *f, const void *found, bool *ret_old)
{
	must(pthread_mutex_lock(&f->lock) == 0);
	/* Newer ones are there before nothing is coming. */
	struct swappable_object *keys = swappable_acquire(f->keys);
	bool newer = keys->object != found;
	swappable_release(&keys);
	bool asks = found != NULL && !newer && !f->coming &&
	    now_ms() - f->asked_ms >= ASKED_MS;
	if (asks) {
		f->asked_ms = now_ms();
		f->coming = true;
		atomic_store(&f->asked, true);
	}
	bool coming = f->coming;
	*ret_old = f->well_ms == 0 || now_ms() - f->well_ms >= ASKED_MS;
	must(pthread_mutex_unlock(&f->lock) == 0);
	if (asks)
		curl_multi_wakeup(f->multi);
	return newer || coming;
}

char *
token_fetch_try(struct token_fetch *f)
{
	bool is_new;
	int64_t rest_ms;
	if (f->begun || f->tried)
		return NULL;
	f->tried = true;
	char *fault = fetch(f, &is_new, &rest_ms);
	char *wrong =
	    fault != NULL ? mem_printf("%s %s", f->url, fault) : NULL;
	free(fault);
	return wrong;
}

/* --- life --- */

struct token_fetch *
token_fetch_new(const char *url, const char *ca, struct swappable *keys)
{
	struct token_fetch *f = mem_zero(sizeof *f);
	must(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
	f->url = url;
	f->ca = ca;
	f->keys = keys;
	f->multi = curl_multi_init();
	must(f->multi != NULL);
	must(pthread_mutex_init(&f->lock, NULL) == 0);
	f->coming = true;
	f->asked_ms = INT64_MIN / 2;
	return f;
}

void
token_fetch_free(struct token_fetch **fetch)
{
	struct token_fetch *f = *fetch;
	*fetch = NULL;
	if (f == NULL)
		return;
	atomic_store(&f->stops, true);
	curl_multi_wakeup(f->multi);
	if (f->begun)
		must(pthread_join(f->thread, NULL) == 0);
	must(curl_multi_cleanup(f->multi) == CURLM_OK);
	curl_global_cleanup();
	must(pthread_mutex_destroy(&f->lock) == 0);
	free(f->news.wrong);
	free(f);
}
