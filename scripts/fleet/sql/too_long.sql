-- The contents with a name that can be too long for a line of a list, which has 65,536 bytes. JSON
-- has at most six bytes for a character of a path, and the other members are much shorter than the
-- rest of a line.
SELECT DISTINCT sha256
FROM replicated_names
WHERE 6 * LENGTH(path) + COALESCE(LENGTH(path_base64), 0) > 60000
