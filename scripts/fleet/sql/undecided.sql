-- The contents of which it is not known whether another host has them: they or files of their size
-- were not read.
SELECT host, COUNT(*) AS contents, SUM(CAST(size AS DECIMAL(38, 0))) AS bytes,
       CAST(SUM(inodes) AS BIGINT) AS inodes
FROM contents
WHERE undecided = 1
GROUP BY host
ORDER BY host
