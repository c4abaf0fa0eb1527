-- A file of each content that is on one host only.
SELECT f.host, c.size, c.sha256, s.path AS source_path, s.path_base64 AS source_base64,
       f.path, f.path_base64
FROM contents c
JOIN files f ON f.host = c.host AND f.id = c.id
JOIN sources s ON s.host = f.host AND s.source = f.source
WHERE c.replicas = 1 AND c.undecided = 0
ORDER BY f.host, f.id
