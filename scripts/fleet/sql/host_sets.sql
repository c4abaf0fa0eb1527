-- The sets of hosts that have a content, with the number of contents that exactly these hosts have.
-- There are far fewer sets than contents, so that pairs of hosts are made of sets only. "content" and
-- "size" are those of an example.
SELECT hosts, COUNT(*) AS contents, SUM(CAST(size AS DECIMAL(38, 0))) AS bytes,
       MIN(content) AS content, MIN_BY(size, content) AS size
FROM (SELECT h.content, h.size, ARRAY_SORT(ARRAY_AGG(h.host)) AS hosts
      FROM holdings h
      JOIN contents c ON c.content = h.content AND c.size = h.size
      WHERE c.replicas > 1
      GROUP BY h.content, h.size) s
GROUP BY hosts
