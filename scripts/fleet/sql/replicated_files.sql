-- The files of these contents.
SELECT f.host, f.id, f.source, f.path, f.path_base64, f.size, f.mtime_ns, f.ctime_ns, f.dev, f.ino,
       f.names, i.sha256
FROM inodes i
JOIN replicated r ON r.sha256 = i.sha256
JOIN files f ON f.host = i.host AND f.id = i.id
