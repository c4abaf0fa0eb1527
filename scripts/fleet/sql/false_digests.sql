-- SHA-256 of files of different sizes: some of the digests are false.
SELECT sha256, MIN(size) AS size, MAX(size) AS other
FROM inodes
WHERE sha256 IS NOT NULL
GROUP BY sha256
HAVING MIN(size) < MAX(size)
ORDER BY sha256
LIMIT 1
