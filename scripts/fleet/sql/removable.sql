-- All names of the files that may be removed, host by host.
SELECT n.host, n.id, n.source, n.path, n.path_base64, n.size, n.mtime_ns, n.ctime_ns, n.dev, n.ino,
       n.sha256, c.keepers
FROM keeping k
JOIN keepers c ON c.sha256 = k.sha256
JOIN replicated_names n ON n.host = k.host AND n.sha256 = k.sha256
WHERE k.keeps = 0
ORDER BY n.host, n.id, n.source, n.path, COALESCE(n.path_base64, '')
