-- The number of wanted files of each host, and their bytes.
SELECT h.host, h.index_id, COALESCE(w.files, 0) AS files, COALESCE(w.bytes, 0) AS bytes
FROM hosts h
LEFT JOIN (SELECT host, COUNT(*) AS files, SUM(CAST(size AS DECIMAL(38, 0))) AS bytes
           FROM wanted_files
           GROUP BY host) w ON w.host = h.host
ORDER BY h.host
