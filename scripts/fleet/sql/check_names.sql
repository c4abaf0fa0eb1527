-- A file with a name that is there twice.
SELECT MAX(id) AS id
FROM (SELECT id, source, path, path_base64 FROM files
      UNION ALL
      SELECT id, source, path, path_base64 FROM links) n
GROUP BY source, path, path_base64
HAVING COUNT(*) > 1
ORDER BY 1
LIMIT 1
