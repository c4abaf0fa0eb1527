-- The files that must be read: another host has a file of this size, and no SHA-256 is known.
SELECT f.host, f.id, f.source, f.path, f.path_base64, f.size, f.mtime_ns, f.ctime_ns, f.dev,
       f.ino
FROM files f
JOIN inodes i ON i.host = f.host AND i.id = f.id
WHERE i.shared = 1 AND i.sha256 IS NULL
