-- The SHA-256 of groups: the files of a group were compared byte by byte, so that the digest of one
-- holds for all.
SELECT host, group_name, MIN(sha256) AS sha256
FROM hashed
WHERE group_name IS NOT NULL
GROUP BY host, group_name
HAVING MIN(sha256) = MAX(sha256)
