-- Files of some bytes with what is known of their content. "content" identifies the content: by
-- SHA-256, else by the group of its host, else by the file itself. "shared" is 1 if another host has
-- a file of this size.
SELECT h.host, h.id, h.source, h.folder, h.size,
       CASE WHEN h.group_name IS NULL THEN h.sha256 ELSE g.sha256 END AS sha256,
       CASE WHEN h.group_name IS NULL AND h.sha256 IS NOT NULL THEN h.sha256
            WHEN h.group_name IS NULL THEN CONCAT(h.host, '#', CAST(h.id AS STRING))
            WHEN g.sha256 IS NOT NULL THEN g.sha256
            ELSE CONCAT(h.host, ':', h.group_name) END AS content,
       CASE WHEN h.group_name IS NULL AND h.sha256 IS NULL THEN 1 ELSE 0 END AS single,
       CASE WHEN s.size IS NULL THEN 0 ELSE 1 END AS shared
FROM hashed h
LEFT JOIN group_hashes g ON g.host = h.host AND g.group_name = h.group_name
LEFT JOIN shared_sizes s ON s.size = h.size
