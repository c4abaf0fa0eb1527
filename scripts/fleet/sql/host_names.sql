-- All hosts.
SELECT host, index_id
FROM hosts
ORDER BY host
