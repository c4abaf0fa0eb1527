-- The largest contents that are on one host only, with the name of one file of each.
SELECT f.host, c.size, c.sha256, s.path AS source_path, s.path_base64 AS source_base64,
       f.path, f.path_base64
FROM (SELECT c.content, c.size, c.sha256, h.host, h.id
      FROM contents c
      JOIN holdings h ON h.content = c.content AND h.size = c.size AND h.host = c.host
      WHERE c.replicas = 1 AND c.undecided = 0
      ORDER BY c.size DESC, h.host, h.id
      LIMIT 100) c
JOIN files f ON f.host = c.host AND f.id = c.id
JOIN sources s ON s.host = f.host AND s.source = f.source
ORDER BY c.size DESC, f.host, f.id
