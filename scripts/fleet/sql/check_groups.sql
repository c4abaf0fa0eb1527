-- A file of a group whose files cannot all be equal.
SELECT MAX(id) AS id
FROM files
WHERE group_name IS NOT NULL
GROUP BY group_name
HAVING MIN(size) < MAX(size) OR MIN(sha256) < MAX(sha256)
ORDER BY 1
LIMIT 1
