/* SPDX-License-Identifier: MIT */
#ifndef BASE_JSON_MEMORY_H
#define BASE_JSON_MEMORY_H

/* Memory of the JSON library, whose reader damages the heap where it gets none (seen with jansson
 * 2.14): the process ends instead, and says why. */

/* To be called once, before anything is done with JSON. */
void json_memory_init(void);

#endif
