-- For each number of hosts, the contents that so many hosts have. Undecided contents are left out.
SELECT replicas, COUNT(*) AS contents, SUM(CAST(size AS DECIMAL(38, 0))) AS bytes
FROM contents
WHERE undecided = 0
GROUP BY replicas
ORDER BY replicas
