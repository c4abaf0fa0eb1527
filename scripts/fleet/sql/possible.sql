-- For each two hosts, the contents that the first has and the other may have: the other has files of
-- this size, and one of both was not read. Contents that both have are counted, too, if the other
-- has further files of this size that were not read; known_possible.sql has their number.
SELECT host, other, CAST(SUM(contents) AS BIGINT) AS contents,
       SUM(CAST(contents AS DECIMAL(19, 0)) * CAST(size AS DECIMAL(19, 0))) AS bytes
FROM (SELECT u.host, o.host AS other, u.size, u.contents
      FROM unread u
      JOIN (SELECT DISTINCT h.host, h.size
            FROM holdings h
            JOIN (SELECT DISTINCT size FROM unread) s ON s.size = h.size) o
        ON o.size = u.size AND o.host <> u.host
      UNION ALL
      SELECT k.host, u.host AS other, k.size, k.contents
      FROM (SELECT host, size, COUNT(*) AS contents
            FROM holdings
            WHERE sha256 IS NOT NULL AND shared = 1
            GROUP BY host, size) k
      JOIN unread u ON u.size = k.size AND u.host <> k.host) p
GROUP BY host, other
