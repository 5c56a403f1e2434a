/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * What a reader of a stream runs in Redis, where several commands must be one
 * step.  KEYS[1] is the stream, ARGV[1] the group.  For src/messages/broker/
 * alone.
 */

/*
 * Makes the group where it is not there, and the stream.  ARGV[2]: the id that
 * it begins behind, or $; [3]: "1": a group that is there is set back to that
 * id; [4]: the mark of the stream that it was made for before, of a look, or
 * empty, and [5] which history of a server that was of: of another stream, a
 * new group begins with the first entry.  Answers what was done (enum
 * streams_script_group), behind which id the group goes on, and which history
 * this is, or '' where INFO is not allowed.
 */
extern const char streams_script_group[];
enum streams_script_group {
	STREAMS_GROUP_THERE,
	STREAMS_GROUP_MADE,
	STREAMS_GROUP_MADE_STREAM, /* and the group */
	STREAMS_GROUP_SET_BACK,
	STREAMS_GROUP_MADE_NEW, /* the stream is another one */
	STREAMS_GROUP_NEW, /* the same, and the group was there */
};
/*
 * How many entries were removed before the group had read them (deleted ones:
 * as far as no more than 1,000 are behind them, or 1 MiB), and how many it has
 * not read yet (-1: not known), the last that it has (where others read it,
 * too), the lowest that is pending for one of these, whether it is certain now
 * how many were read, which run of a server this is, what is pending for the
 * consumer itself below that lowest, and a mark of the stream: {lost, lag,
 * last, pending, 1 or 0, run, {id, ...}, mark}, the ids, run and mark '' for
 * none, last nil where there is no group.  No more than 100 entries are looked
 * at: where all of them are the consumer's, pending is the last one.  ARGV[2]:
 * the consumer; [3]: not empty: Redis may have forgotten how many were read,
 * unless it is still in that run; [4]: "1": it is to be kept from that; [5]:
 * "1": the group's entries-read is corrected where something was lost, so that
 * each loss is told to one reader who counts it, once; else it is found again.
 * Where INFO is not allowed, no run is known.
 */
extern const char streams_script_look[];
/*
 * Makes entries those of the consumer ARGV[2] that have been idle for [3] ms:
 * of those behind the id [4] the first [5].  Answers {the id to go on behind,
 * or 0-0; entries; ids of others' entries whose bytes are gone; of each entry
 * how often it has been delivered by now}.  Of the consumer's own ones whose
 * bytes are gone it has the id and nil: what is in hand can be finished still.
 * All that is gone stays pending as it was.
 */
extern const char streams_script_claim[];
/*
 * Keeps entries alive for the consumer ARGV[2], or gives them back: they have
 * been idle for ARGV[3] ms then.  [4], …: their ids.  Answers for each one of
 * enum streams_script_beat.
 */
extern const char streams_script_beat[];
enum streams_script_beat {
	STREAMS_BEAT_FOREIGN = -1, /* another consumer has it */
	STREAMS_BEAT_GONE = 0,     /* it is not pending */
	STREAMS_BEAT_OURS = 1,
	STREAMS_BEAT_DELETED = 2, /* XDEL; pending, and not touched */
	STREAMS_BEAT_TRIMMED = 3, /* pending, but it must not be touched */
};
/*
 * Why the entry ARGV[3] is not pending, which was so for the consumer ARGV[2]:
 * one of enum streams_script_missing.
 */
extern const char streams_script_missing[];
enum streams_script_missing {
	STREAMS_MISSING_DONE,  /* somebody else has finished it */
	STREAMS_MISSING_LOST,  /* it is gone, or its consumer is */
	STREAMS_MISSING_AHEAD, /* the group is a new one, and has not read it */
	STREAMS_MISSING_BACK,  /* it is pending by now */
};
/*
 * A put, in two parts that are sent as one text.  KEYS[2] is the stream that it
 * goes to, ARGV[2] the consumer, [3] the entry's id, [6], … names and values,
 * of which the entry's own take the place of the first [5] (empty: of none),
 * if it is still there.  The first part ends it, with 0, unless the entry is
 * pending for that consumer, and has been delivered [4] times (empty: however
 * often); the second answers 1.
 */
extern const char streams_script_pending[];
extern const char streams_script_put[];
/*
 * Takes the dead letter ARGV[3] away from KEYS[1], and puts [6], … into KEYS[2]
 * if there are any, as streams_script_put does.  1; 0: it is not there.
 */
extern const char streams_script_letter[];
/*
 * A page of the dead letters in KEYS[1] of the source ARGV[1]: behind the id
 * [2] (empty: from the first), at most [3] of them, only those of the position
 * [4] (empty: all), without values longer than [5] bytes (empty: with all).
 * Answers the id to go on after (empty: there are no more), whether the entry
 * [4] of the stream KEYS[2] is pending in the group [6] (empty: 0), and the
 * entries.
 */
extern const char streams_script_letters[];
