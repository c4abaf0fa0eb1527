-- All names of these files.
SELECT host, id, source, path, path_base64, size, mtime_ns, ctime_ns, dev, ino, sha256
FROM replicated_files
UNION ALL
SELECT f.host, f.id, l.source, l.path, l.path_base64, f.size, f.mtime_ns, f.ctime_ns, f.dev, f.ino,
       f.sha256
FROM links l
JOIN replicated_files f ON f.host = l.host AND f.id = l.id
