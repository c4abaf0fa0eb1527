-- Indexes of which there are inventories of several hosts.
SELECT index_id, MIN(host) AS host, MAX(host) AS other
FROM hosts
GROUP BY index_id
HAVING COUNT(*) > 1
ORDER BY index_id
