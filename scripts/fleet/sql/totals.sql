-- The whole fleet. Files of no bytes are only counted.
SELECT (SELECT COUNT(*) FROM hosts) AS hosts,
       h.inodes, h.bytes, c.contents, c.content_bytes,
       c.undecided_contents, c.undecided_bytes, c.undecided_inodes,
       (SELECT COUNT(*) FROM files WHERE size = 0) AS empty_files
FROM (SELECT CAST(COALESCE(SUM(inodes), 0) AS BIGINT) AS inodes,
             COALESCE(SUM(CAST(size AS DECIMAL(19, 0)) * CAST(inodes AS DECIMAL(19, 0))), 0)
               AS bytes
      FROM holdings) h
CROSS JOIN
     (SELECT COUNT(*) AS contents,
             COALESCE(SUM(CAST(size AS DECIMAL(38, 0))), 0) AS content_bytes,
             CAST(COALESCE(SUM(undecided), 0) AS BIGINT) AS undecided_contents,
             COALESCE(SUM(CASE WHEN undecided = 1 THEN CAST(size AS DECIMAL(38, 0)) END), 0)
               AS undecided_bytes,
             CAST(COALESCE(SUM(CASE WHEN undecided = 1 THEN inodes END), 0) AS BIGINT)
               AS undecided_inodes
      FROM contents) c
