-- An id of more than one row of digests.
SELECT id FROM digests GROUP BY id HAVING COUNT(*) > 1 ORDER BY id LIMIT 1
