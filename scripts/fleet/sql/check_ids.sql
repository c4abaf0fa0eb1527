-- An id of more than one file of an inventory.
SELECT id FROM files GROUP BY id HAVING COUNT(*) > 1 ORDER BY id LIMIT 1
