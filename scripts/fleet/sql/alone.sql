-- The contents that are on one host only. "by size" are those that needed no digest, because no
-- other host has a file of this size.
SELECT host, COUNT(*) AS contents, SUM(CAST(size AS DECIMAL(38, 0))) AS bytes,
       CAST(SUM(CASE WHEN sha256 IS NULL THEN 1 ELSE 0 END) AS BIGINT) AS contents_by_size
FROM contents
WHERE replicas = 1 AND undecided = 0
GROUP BY host
ORDER BY host
