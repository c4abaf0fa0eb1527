-- The inodes of each host beyond the first one of each content.
SELECT host, CAST(SUM(inodes - 1) AS BIGINT) AS inodes,
       SUM(CAST(size AS DECIMAL(19, 0)) * CAST(inodes - 1 AS DECIMAL(19, 0))) AS bytes
FROM holdings
WHERE inodes > 1
GROUP BY host
ORDER BY host
