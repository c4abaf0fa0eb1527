-- The outermost folders of which each content, also in folders below, is on another host.
SELECT c.host, s.path AS source_path, s.path_base64 AS source_base64, c.top AS folder,
       c.contents, c.bytes, c.inodes
FROM (SELECT host, source, top, COUNT(*) AS contents, SUM(CAST(size AS DECIMAL(38, 0))) AS bytes,
             CAST(SUM(inodes) AS BIGINT) AS inodes
      FROM (SELECT c.host, c.source, c.top, n.content, n.size, COUNT(DISTINCT n.id) AS inodes
            FROM covered_folders c
            JOIN names n ON n.host = c.host AND n.source = c.source AND n.folder = c.folder
            GROUP BY c.host, c.source, c.top, n.content, n.size) d
      GROUP BY host, source, top) c
JOIN sources s ON s.host = c.host AND s.source = c.source
ORDER BY c.bytes DESC, c.host, c.source, c.top
