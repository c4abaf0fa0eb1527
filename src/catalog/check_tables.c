/* SPDX-License-Identifier: MIT */
#include "catalog/check_tables.h"

#include "store/key.h"
#include "store/store.h"

int check_expect(struct check *c, enum table table, struct key key)
{
	struct span fields;

	c->expected[table]++;
	return check_found(store_get(c->reader, table, &key, &fields));
}
