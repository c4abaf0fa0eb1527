-- Each folder that has files of some bytes, and how many of them are on no other host for certain.
SELECT n.host, n.source, n.folder,
       CAST(SUM(CASE WHEN c.content IS NULL THEN 1 ELSE 0 END) AS BIGINT) AS uncovered
FROM names n
LEFT JOIN (SELECT content, size FROM contents WHERE replicas > 1) c
  ON c.content = n.content AND c.size = n.size
GROUP BY n.host, n.source, n.folder
