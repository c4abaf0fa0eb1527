-- Hosts of which there is more than one inventory.
SELECT host
FROM hosts
GROUP BY host
HAVING COUNT(*) > 1
ORDER BY host
