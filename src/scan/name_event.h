/* SPDX-License-Identifier: MIT */
#ifndef SCAN_NAME_EVENT_H
#define SCAN_NAME_EVENT_H

/* Events of a name in a directory, from the event of the kernel to the recheck of the name.
 *
 * view/follow/queue.h sets these flags; the follower (view/follow/follower.h) and the walk evaluate
 * them. The table in name_event.c has the effects of each flag. Pure code, any thread. */

#include <stdbool.h>
#include <stdint.h>

/* Flags of a name. */
enum name_event {
	EVENT_NAME = 1, /* created, removed, renamed, or to be rechecked for another reason */
	EVENT_WRITTEN = 2, /* the file was, or possibly was, written to */
	EVENT_CLOSED = 4, /* with EVENT_WRITTEN: a writer closed the file after the last write */
	EVENT_ATTRIBUTES = 8, /* the metadata changed */
	EVENT_MOVED_IN = 16, /* a rename moved the name here from a directory without a watch */
	EVENT_MOVED_HERE = 32, /* a rename moved the name here from a watched directory */
	EVENT_CREATED = 64, /* the name is new, possibly a hard link */
	EVENT_REMOVED = 128,
	EVENT_REPLACED = 256, /* the name arrived, and was removed or replaced before its recheck */
	EVENT_NEW_DIR = 512, /* a directory arrived that had no watch before */
	/* flags of the directory itself, in a struct name_events without a name: */
	EVENT_LISTING = 1024, /* all its names have to be rechecked */
	EVENT_TREE = 2048, /* everything below it has to be rechecked */
};

#define EVENTS_ARRIVED (EVENT_MOVED_IN | EVENT_MOVED_HERE | EVENT_CREATED)

/* The events of one name. */
struct name_events {
	uint32_t events; /* enum name_event, or-ed */
	uint32_t length; /* of name in bytes; 0: the directory itself */
	uint64_t dir; /* number of the directory in the index */
	char name[]; /* NUL-terminated */
};

/* Effects of an event, as flags. */
enum event_effect {
	EFFECT_HIDES = 1, /* the index must forget the content of the file before its recheck */
	EFFECT_NEW_BYTES = 2, /* the bytes have possibly changed, though size and mtime have not */
	EFFECT_ARRIVES = 4, /* the name possibly belongs to another file now */
	EFFECT_CHANGES_FILE = 8, /* the file that had the name has possibly changed */
	EFFECT_MAY_BE_LINK = 16, /* possibly affects a file that the index has under another name */
	EFFECT_UNTRUSTS = 32, /* a write was possibly reported under a removed name */
};

/* Returns the effects of all these events together. */
uint32_t name_event_effects(uint32_t events);

/* How far a renamed file is trusted to have its indexed content. A rename changes the ctime, so
 * only the events show that nothing else changed the file. Events identify a file by a name, which
 * can belong to another file a moment later. The values are in ascending order of caution. */
enum rename_trust {
	RENAME_TRUSTED, /* every write was reported under a name that the index knows */
	/* A write was possibly reported under a name that the file had only between two rechecks.
	 * Applies until every name was rechecked without a further event. */
	RENAME_UNTRUSTED,
	RENAME_NEEDS_WALK, /* events were lost or do not suffice: the source must be walked */
};

/* Returns whether a file of this name has the bytes that the index knows if its size and mtime are
 * the same. */
static inline bool name_events_keep_bytes(uint32_t events, enum rename_trust trust)
{
	return trust == RENAME_TRUSTED && !(name_event_effects(events) & EFFECT_NEW_BYTES);
}

/* Returns whether a rename within the watched directories brought the name. */
static inline bool name_events_are_rename(uint32_t events)
{
	return events & EVENT_MOVED_HERE && !(events & EVENT_CREATED);
}

/* Returns whether a file that the index has under another name was possibly written to under this
 * name. A recheck of this name does not find that file.
 *
 * known	the index had the name
 * exists	the name exists now */
bool name_events_may_hide_link(uint32_t events, enum rename_trust trust, bool known, bool exists);

#endif
