/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/hex.h"
#include "base/loop/log.h"
#include "gate/journal_relay_log.h"
#include "store/record/label.h"

void
journal_relay_log_writable(const struct journal *journal, bool can)
{
	struct logline line = log_begin(
	    can ? EV_journal_writable : EV_journal_unwritable);
	if (!can)
		log_str(&line, "error", journal_message(journal));
	log_end(&line);
}

/* Without its entry's kind, nobody could tell a payment from none. */
void
journal_relay_log_entry(const struct conf_store *conf,
    const struct journal_entry *entry, enum event event)
{
	static const char *const kinds[] = {
	    [JOURNAL_COMPLETE] = "complete",
	    [JOURNAL_RELEASE] = "release",
	    [JOURNAL_UNKNOWN] = "unknown",
	};
	char hex[DIGEST_HEX + 1];
	hex_encode(entry->key_id.bytes, DIGEST_BYTES, hex);
	const struct provenance from = provenance_read(entry->provenance);
	struct logline line = log_begin(event);
	log_str(&line, "key_id", hex);
	log_span(&line, "route", from.route);
	label_log(&line, conf, &entry->key_id, &from);
	log_int(&line, "attempt", entry->attempt);
	log_str(&line, "step", kinds[entry->kind]);
	if (from.instance.len > 0)
		log_span(&line, "written_by", from.instance);
	log_end(&line);
}

void
journal_relay_log_blocked(const struct conf_store *conf, struct key_set *said,
    const struct journal_entry *entry)
{
	if (!key_set_has(said, &entry->key_id))
		journal_relay_log_entry(conf, entry, EV_journal_blocked);
	key_set_add(said, &entry->key_id);
}

/* Its key is not known either: what the operator can look at is the file. */
void
journal_relay_log_damaged(const struct journal *journal, uint64_t id)
{
	struct logline line = log_begin(EV_journal_damaged);
	log_str(&line, "file", journal_name(journal));
	log_int(&line, "entry", (int64_t)id);
	log_end(&line);
}
