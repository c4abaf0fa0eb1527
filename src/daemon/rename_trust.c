/* SPDX-License-Identifier: MIT */
#include "daemon/rename_trust.h"

void doubt_weigh(struct doubt *doubt, struct dirty *dirty, bool purged)
{
	doubt->lost = dirty->overflowed || dirty->strayed;
	dirty->strayed = false;
	dirty_note_lost(dirty, &doubt->earlier);
	dirty_reset(&doubt->earlier);
	if (dirty->count == 0 && purged)
		doubt->is = false;
	doubt->is |= doubt->lost;
}

void doubt_keep(struct doubt *doubt, struct dirty *dirty)
{
	dirty_reset(&doubt->earlier);
	doubt->earlier = *dirty;
	*dirty = (struct dirty){0};
}

void doubt_free(struct doubt *doubt)
{
	dirty_reset(&doubt->earlier);
}
