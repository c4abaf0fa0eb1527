-- Each host: what was exported, and what of it is only there.
SELECT h.host, h.created, h.min_size, h.errors, h.pending,
       COALESCE(n.inodes, 0) AS inodes, COALESCE(n.bytes, 0) AS bytes,
       COALESCE(n.contents, 0) AS contents, COALESCE(n.content_bytes, 0) AS content_bytes
FROM hosts h
LEFT JOIN (SELECT host, CAST(SUM(inodes) AS BIGINT) AS inodes,
                  SUM(CAST(size AS DECIMAL(19, 0)) * CAST(inodes AS DECIMAL(19, 0))) AS bytes,
                  COUNT(*) AS contents, SUM(CAST(size AS DECIMAL(38, 0))) AS content_bytes
           FROM holdings
           GROUP BY host) n ON n.host = h.host
ORDER BY h.host
