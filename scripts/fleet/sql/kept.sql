-- The contents that hosts keep for others, host by host: the first file of each.
SELECT f.host, f.id, f.source, f.path, f.path_base64, f.size, f.mtime_ns, f.ctime_ns, f.dev, f.ino,
       f.sha256
FROM keeping k
JOIN keepers c ON c.sha256 = k.sha256
JOIN replicated_files f ON f.host = k.host AND f.id = k.id
WHERE k.keeps = 1
ORDER BY f.host, f.id
