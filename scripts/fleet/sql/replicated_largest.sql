-- The contents of which the most bytes are on further hosts, with a file of each.
SELECT c.replicas, c.size, c.sha256, c.inodes, f.host, s.path AS source_path,
       s.path_base64 AS source_base64, f.path, f.path_base64
FROM (SELECT sha256, size, replicas, inodes, host, id,
             CAST(size AS DECIMAL(19, 0)) * CAST(replicas - 1 AS DECIMAL(19, 0)) AS further
      FROM contents
      WHERE replicas > 1
      ORDER BY further DESC, sha256
      LIMIT 100) c
JOIN files f ON f.host = c.host AND f.id = c.id
JOIN sources s ON s.host = f.host AND s.source = f.source
ORDER BY c.further DESC, c.sha256
