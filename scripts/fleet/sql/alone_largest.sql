-- A file of each of the largest contents that are on one host only.
SELECT f.host, c.size, c.sha256, s.path AS source_path, s.path_base64 AS source_base64,
       f.path, f.path_base64
FROM (SELECT size, sha256, host, id
      FROM contents
      WHERE replicas = 1 AND undecided = 0
      ORDER BY size DESC, host, id
      LIMIT 100) c
JOIN files f ON f.host = c.host AND f.id = c.id
JOIN sources s ON s.host = f.host AND s.source = f.source
ORDER BY c.size DESC, f.host, f.id
