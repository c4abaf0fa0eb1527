-- Each content of each host, with the number of its inodes there. A file without digest and group is
-- a content of its own, which needs no search for equal ones.
SELECT host, content, size, MIN(sha256) AS sha256, shared, COUNT(*) AS inodes, MIN(id) AS id
FROM inodes
WHERE single = 0
GROUP BY host, content, size, shared
UNION ALL
SELECT host, content, size, NULL AS sha256, shared, 1 AS inodes, id
FROM inodes
WHERE single = 1
