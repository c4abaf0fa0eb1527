-- For each two hosts, the contents that both have, and of whose size the other has files that were
-- not read.
SELECT a.host, b.host AS other, COUNT(*) AS contents, SUM(CAST(a.size AS DECIMAL(38, 0))) AS bytes
FROM holdings a
JOIN (SELECT h.host, h.content, h.size
      FROM holdings h
      JOIN unread u ON u.host = h.host AND u.size = h.size
      WHERE h.sha256 IS NOT NULL) b
  ON b.content = a.content AND b.size = a.size AND b.host <> a.host
GROUP BY a.host, b.host
