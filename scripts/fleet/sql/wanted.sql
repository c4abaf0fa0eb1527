-- The wanted files of all hosts, host by host.
SELECT host, id, source, path, path_base64, size, mtime_ns, ctime_ns, dev, ino
FROM wanted_files
ORDER BY host, id
